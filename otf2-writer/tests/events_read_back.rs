//! Each kind of event is there again, in order, with what it carries.

mod support;

use otf2_writer::*;

#[test]
fn every_kind_of_event() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let defs = archive.definitions_mut();
    let ranks = support::two_ranks(defs);
    let self_group = defs.group(Group { name: "", paradigm: Paradigm::Mpi, members: GroupMembers::CommSelf });
    let comm_self = defs.communicator(Communicator {
        name: "MPI_COMM_SELF",
        group: self_group,
        parent: None,
        create_destroy_events: true,
        identity: None,
    });
    let member = |defs: &mut Definitions, name, value_type| {
        defs.metric_member(MetricMember {
            name,
            description: "",
            origin: MetricOrigin::Other,
            mode: MetricMode::AbsoluteNext,
            value_type,
            base: MetricBase::Decimal,
            exponent: 0,
            unit: "messages",
        })
    };
    let members = [member(defs, "u", Type::U64), member(defs, "i", Type::I64), member(defs, "f", Type::F64)];
    let metric = defs.metric_class(MetricClass {
        members: &members,
        occurrence: MetricOccurrence::Asynchronous,
        recorder: RecorderKind::Cpu,
    });

    let (comm, region) = (ranks.world, ranks.send);
    let root = CollectiveRoot::Rank(1);
    let values = [MetricValue::U64(u64::MAX), MetricValue::I64(-5), MetricValue::F64(0.5)];
    let written = [
        Event::Enter { region },
        Event::MpiSend { receiver: 1, comm, tag: 7, bytes: 1 << 40 },
        Event::MpiIsend { receiver: 1, comm, tag: 8, bytes: 101, request: 1 },
        Event::MpiIsendComplete { request: 1 },
        Event::MpiIrecvRequest { request: 2 },
        Event::MpiRequestTest { request: 2 },
        Event::MpiIrecv { sender: 1, comm, tag: 9, bytes: 102, request: 2 },
        Event::MpiRecv { sender: 0, comm, tag: 10, bytes: 0 },
        Event::MpiIrecvRequest { request: 3 },
        Event::MpiRequestCancelled { request: 3 },
        Event::MpiCollectiveBegin,
        Event::MpiCollectiveEnd { op: CollectiveOp::Bcast, comm, root, sent_bytes: 4, received_bytes: 5 },
        Event::NonBlockingCollectiveRequest { request: 4 },
        Event::NonBlockingCollectiveComplete {
            op: CollectiveOp::Allreduce,
            comm,
            root: CollectiveRoot::None,
            sent_bytes: 1,
            received_bytes: 2,
            request: 4,
        },
        Event::CommCreate { comm: comm_self },
        Event::CommDestroy { comm: comm_self },
        Event::Metric { metric, values: &values },
        Event::Leave { region },
    ];
    let mut events = archive.event_writer(ranks.threads[0]).unwrap();
    for (time, event) in (100..).zip(&written) {
        events.write(Ticks(time), event).unwrap();
    }
    events.close().unwrap();
    archive.finish().unwrap();

    let world = r#"Communicator: "MPI_COMM_WORLD" <0>"#;
    let expected = [
        r#"ENTER 0 100 Region: "MPI_Send" <0>"#.to_owned(),
        format!(r#"MPI_SEND 0 101 Receiver: 1 ("Master" <1>), {world}, Tag: 7, Length: 1099511627776"#),
        format!(r#"MPI_ISEND 0 102 Receiver: 1 ("Master" <1>), {world}, Tag: 8, Length: 101, Request: 1"#),
        "MPI_ISEND_COMPLETE 0 103 Request: 1".to_owned(),
        "MPI_IRECV_REQUEST 0 104 Request: 2".to_owned(),
        "MPI_REQUEST_TEST 0 105 Request: 2".to_owned(),
        format!(r#"MPI_IRECV 0 106 Sender: 1 ("Master" <1>), {world}, Tag: 9, Length: 102, Request: 2"#),
        format!(r#"MPI_RECV 0 107 Sender: 0 ("Master" <0>), {world}, Tag: 10, Length: 0"#),
        "MPI_IRECV_REQUEST 0 108 Request: 3".to_owned(),
        "MPI_REQUEST_CANCELLED 0 109 Request: 3".to_owned(),
        "MPI_COLLECTIVE_BEGIN 0 110".to_owned(),
        format!(r#"MPI_COLLECTIVE_END 0 111 Operation: BCAST, {world}, Root: 1 ("Master" <1>), Sent: 4, Received: 5"#),
        "NON_BLOCKING_COLLECTIVE_REQUEST 0 112 Request: 4".to_owned(),
        format!("NON_BLOCKING_COLLECTIVE_COMPLETE 0 113 Operation: ALLREDUCE, {world}, Root: NONE, Sent: 1, Received: 2, Request: 4"),
        r#"COMM_CREATE 0 114 Communicator: "MPI_COMM_SELF" <1>"#.to_owned(),
        r#"COMM_DESTROY 0 115 Communicator: "MPI_COMM_SELF" <1>"#.to_owned(),
        r#"METRIC 0 116 Metric: 0, 3 Values: ("u" <0>; UINT64; 18446744073709551615), ("i" <1>; INT64; -5), ("f" <2>; DOUBLE; 0.5)"#.to_owned(),
        r#"LEAVE 0 117 Region: "MPI_Send" <0>"#.to_owned(),
    ];
    assert_eq!(support::events(directory.path()).join("\n"), expected.join("\n"));
}

#[test]
fn attributes_of_every_type() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let defs = archive.definitions_mut();
    let ranks = support::two_ranks(defs);
    let text = defs.string("a text");
    let process = ranks.processes[1];
    let values = [
        AttributeValue::U8(u8::MAX),
        AttributeValue::U16(u16::MAX),
        AttributeValue::U32(u32::MAX - 1),
        AttributeValue::U64(u64::MAX),
        AttributeValue::I8(i8::MIN),
        AttributeValue::I16(i16::MIN),
        AttributeValue::I32(i32::MIN),
        AttributeValue::I64(i64::MIN),
        AttributeValue::F32(0.25),
        AttributeValue::F64(-0.5),
        AttributeValue::String(text),
        AttributeValue::Location(ranks.threads[1]),
        AttributeValue::LocationGroup(process),
        AttributeValue::Region(ranks.send),
        AttributeValue::Comm(ranks.world),
    ];
    let attributes: Vec<_> = values.map(|value| (defs.attribute("a", "", value.value_type()), value)).into();
    let mut events = archive.event_writer(ranks.threads[0]).unwrap();
    events.enter(Ticks(1), ranks.send, &attributes).unwrap();
    events.leave(Ticks(2), ranks.send, &attributes[3..4]).unwrap();
    events.enter(Ticks(3), ranks.send, &[]).unwrap();
    events.close().unwrap();
    archive.finish().unwrap();

    let shown = [
        "UINT8; 255",
        "UINT16; 65535",
        "UINT32; 4294967294",
        "UINT64; 18446744073709551615",
        "INT8; -128",
        "INT16; -32768",
        "INT32; -2147483648",
        "INT64; -9223372036854775808",
        "FLOAT; 0.25",
        "DOUBLE; -0.5",
        r#"STRING; "a text" <11>"#,
        r#"LOCATION; "Master" <1>"#,
        r#"LOCATION_GROUP; "MPI Rank 1" <1>"#,
        r#"REGION; "MPI_Send" <0>"#,
        r#"COMM; "MPI_COMM_WORLD" <0>"#,
    ];
    let list: Vec<String> = (0..)
        .zip(shown)
        .map(|(number, value)| {
            // The number of the string is not of interest here.
            let value = value.replace("<11>", &format!("<{}>", text.raw()));
            format!(r#"("a" <{number}>; {value})"#)
        })
        .collect();
    let expected = [
        format!(r#"ENTER 0 1 Region: "MPI_Send" <0> | {}"#, list.join(", ")),
        format!(r#"LEAVE 0 2 Region: "MPI_Send" <0> | {}"#, list[3]),
        r#"ENTER 0 3 Region: "MPI_Send" <0>"#.to_owned(),
    ];
    assert_eq!(support::events(directory.path()).join("\n"), expected.join("\n"));
}
