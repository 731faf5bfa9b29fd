//! Tables: lists of rows in the program, columns in the page's data.
//!
//! `[Cell { sender: 0, bytes: 8 }, Cell { sender: 1, bytes: 16 }]` becomes
//! `{"sender": [0, 1], "bytes": [8, 16]}`, so that a name is written once for each table. The page makes rows
//! of it again (`rowsOfTable`).

use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Adds a row to columns: each of its fields to the column of that name.
fn add(columns: &mut Map<String, Value>, row: Map<String, Value>) {
    for (name, value) in row {
        match columns.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(column) => column.push(value),
            _ => unreachable!("columns are lists"),
        }
    }
}

fn fields<E: Error>(row: impl Serialize) -> Result<Map<String, Value>, E> {
    match serde_json::to_value(row).map_err(E::custom)? {
        Value::Object(fields) => Ok(fields),
        other => Err(E::custom(format!("{other} is no row"))),
    }
}

/// Rows that are sent as columns.
#[derive(Debug)]
pub(super) struct Table<T>(pub(super) Vec<T>);

impl<T: Serialize> Serialize for Table<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        columns(&self.0, serializer)
    }
}

/// Rows as columns, for `#[serde(serialize_with)]`. Rows are structures whose fields are always there; without
/// rows there are no columns.
pub(super) fn columns<T: Serialize, S: Serializer>(rows: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    let mut columns = Map::new();
    for row in rows {
        add(&mut columns, fields(row)?);
    }
    columns.serialize(serializer)
}

/// The name of the field that says of which kind a row is.
pub(super) const KIND: &str = "kind";

/// Rows of several kinds, each of which belongs to an entry of another list: a table for each kind, by its name,
/// with the place of that entry in the column `of`.
///
/// # Errors
/// If a row does not say its [`KIND`].
pub(super) fn tables<'a, T: Serialize + 'a, E: Error>(
    rows: impl Iterator<Item = (usize, &'a T)>,
) -> Result<Map<String, Value>, E> {
    let mut tables = Map::new();
    for (of, row) in rows {
        let mut row = fields(row)?;
        let Some(Value::String(kind)) = row.remove(KIND) else { return Err(E::custom("a row of no kind")) };
        row.insert("of".to_owned(), of.into());
        match tables.entry(kind).or_insert_with(|| Value::Object(Map::new())) {
            Value::Object(columns) => add(columns, row),
            _ => unreachable!("tables are objects"),
        }
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Serialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Row {
        Message { peer: u32 },
        Root { rank: u32, sends: Option<bool> },
    }

    #[test]
    fn names_are_written_once() {
        let rows = vec![Row::Message { peer: 3 }, Row::Message { peer: 5 }];
        let columns = serde_json::to_value(Table(rows)).unwrap();
        assert_eq!(columns, json!({"kind": ["message", "message"], "peer": [3, 5]}));
        assert_eq!(serde_json::to_value(Table::<Row>(Vec::new())).unwrap(), json!({}));
    }

    #[test]
    fn each_kind_is_a_table() {
        let rows = [
            (0, Row::Message { peer: 3 }),
            (7, Row::Root { rank: 1, sends: None }),
            (7, Row::Message { peer: 5 }),
        ];
        let tables = tables::<_, serde_json::Error>(rows.iter().map(|(of, row)| (*of, row))).unwrap();
        let expected = json!({"message": {"of": [0, 7], "peer": [3, 5]}, "root": {"of": [7], "rank": [1], "sends": [null]}});
        assert_eq!(Value::Object(tables), expected);
    }
}
