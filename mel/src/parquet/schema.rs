//! What Arrow's Parquet readers find beside the columns: their units, and that texts are to stay dictionaries.
//!
//! They look for a message of Arrow's interprocess format with a schema, in base64, in the metadata of the file. The slots of its
//! tables, and the numbers of its types, are those of `Message.fbs` and `Schema.fbs` of the Arrow format.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flatbuffers::{FlatBufferBuilder, TableFinishedWIPOffset, UnionWIPOffset, VOffsetT, WIPOffset};

use super::columns::{Column, What};

/// The key of the schema in the metadata of a Parquet file.
pub(super) const KEY: &str = "ARROW:schema";

/// `MetadataVersion.V5`.
const VERSION: i16 = 4;
/// `MessageHeader.Schema`.
const IS_SCHEMA: u8 = 1;
/// What a message begins with.
const CONTINUATION: [u8; 4] = [0xff; 4];

type Built = WIPOffset<TableFinishedWIPOffset>;
type Builder = FlatBufferBuilder<'static>;

/// Where a table has its field of this place.
const fn slot(place: VOffsetT) -> VOffsetT {
    4 + 2 * place
}

/// The schema of these columns, as readers look for it.
pub(super) fn encoded(columns: &[Column]) -> String {
    let mut builder = FlatBufferBuilder::new();
    let fields: Vec<Built> = columns.iter().map(|column| field(&mut builder, column)).collect();
    let fields = builder.create_vector(&fields);
    let schema = builder.start_table();
    builder.push_slot_always(slot(1), fields);
    let schema = builder.end_table(schema);
    let message = builder.start_table();
    builder.push_slot_always(slot(2), WIPOffset::<UnionWIPOffset>::new(schema.value()));
    builder.push_slot_always(slot(0), VERSION);
    builder.push_slot_always(slot(1), IS_SCHEMA);
    let message = builder.end_table(message);
    builder.finish(message, None);
    let mut content = builder.finished_data().to_vec();
    content.resize(content.len().next_multiple_of(8), 0);
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    STANDARD.encode([&CONTINUATION[..], &length.to_le_bytes(), &content].concat())
}

/// `Field`: name, whether it is nullable, type, dictionary, children, metadata.
fn field(builder: &mut Builder, column: &Column) -> Built {
    let name = builder.create_string(column.name);
    let (number, of) = match column.what {
        What::Int32 => (2, int(builder, 32)),
        What::Int64 => (2, int(builder, 64)),
        What::Real => (3, real(builder)),
        What::Text => (5, empty(builder)),
    };
    let dictionary = (column.what == What::Text).then(|| {
        let index = int(builder, 32);
        let dictionary = builder.start_table();
        builder.push_slot_always(slot(1), index);
        builder.end_table(dictionary)
    });
    let children = builder.create_vector::<Built>(&[]);
    let metadata = column.unit.map(|unit| {
        let unit = pair(builder, "unit", unit);
        builder.create_vector(&[unit])
    });
    let field = builder.start_table();
    builder.push_slot_always(slot(0), name);
    builder.push_slot_always(slot(1), column.nullable);
    builder.push_slot_always(slot(2), number as u8);
    builder.push_slot_always(slot(3), WIPOffset::<UnionWIPOffset>::new(of.value()));
    if let Some(dictionary) = dictionary {
        builder.push_slot_always(slot(4), dictionary);
    }
    builder.push_slot_always(slot(5), children);
    if let Some(metadata) = metadata {
        builder.push_slot_always(slot(6), metadata);
    }
    builder.end_table(field)
}

/// `Int`: bits, whether it is signed.
fn int(builder: &mut Builder, bits: i32) -> Built {
    let table = builder.start_table();
    builder.push_slot_always(slot(0), bits);
    builder.push_slot_always(slot(1), true);
    builder.end_table(table)
}

/// `FloatingPoint`: precision 2 is that of 64 bits.
fn real(builder: &mut Builder) -> Built {
    let table = builder.start_table();
    builder.push_slot_always(slot(0), 2i16);
    builder.end_table(table)
}

/// `Utf8`.
fn empty(builder: &mut Builder) -> Built {
    let table = builder.start_table();
    builder.end_table(table)
}

/// `KeyValue`.
fn pair(builder: &mut Builder, key: &str, value: &str) -> Built {
    let (key, value) = (builder.create_string(key), builder.create_string(value));
    let table = builder.start_table();
    builder.push_slot_always(slot(0), key);
    builder.push_slot_always(slot(1), value);
    builder.end_table(table)
}
