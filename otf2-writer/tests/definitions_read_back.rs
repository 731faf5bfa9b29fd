//! Each kind of definition is there again, after what it refers to.

mod support;

use otf2_writer::*;

#[test]
fn every_kind_of_definition() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = ArchiveOptions::new()
        .creator("a tool 1.0")
        .description("a test")
        .machine("a machine")
        .create(directory.path())
        .unwrap();
    let defs = archive.definitions_mut();
    // Made before what it belongs to is described any further: the order is the writer's concern.
    let ranks = support::two_ranks(defs);
    defs.set_clock(Clock {
        ticks_per_second: 2_000_000,
        start: Some(Ticks(50)),
        end: Some(Ticks(1049)),
        start_unix_nanos: Some(1_700_000_000_000_000_000),
    });
    defs.system_tree_node_domain(ranks.host, SystemTreeDomain::SharedMemory);
    let socket =
        defs.system_tree_node(SystemTreeNode { name: "0", class: "socket", parent: Some(ranks.host) });
    let linux = defs.string("Linux");
    defs.system_tree_node_property(socket, "system", AttributeValue::String(linux));
    defs.location_group_property(ranks.processes[1], "pid", AttributeValue::I32(-3));
    defs.location_property(ranks.threads[0], "source", AttributeValue::U64(77));
    defs.paradigm(ParadigmDefinition {
        paradigm: Paradigm::Mpi,
        name: "MPI",
        class: ParadigmClass::Process,
        comm_name_template: Some("Communicator ${id}"),
    });
    defs.attribute("tag", "tag of the message", Type::I32);
    defs.region(Region {
        name: "search posted",
        canonical_name: "search_posted",
        description: "a search of the queue",
        role: RegionRole::Artificial,
        paradigm: Paradigm::MeasurementSystem,
        source_file: "match.c",
        source_lines: (10, 20),
    });
    let one =
        defs.group(Group { name: "one", paradigm: Paradigm::Mpi, members: GroupMembers::CommGroup(&[1]) });
    let self_group =
        defs.group(Group { name: "self", paradigm: Paradigm::Mpi, members: GroupMembers::CommSelf });
    defs.group(Group {
        name: "regions",
        paradigm: Paradigm::None,
        members: GroupMembers::Regions(&[ranks.send]),
    });
    defs.group(Group {
        name: "locations",
        paradigm: Paradigm::None,
        members: GroupMembers::Locations(&ranks.threads),
    });
    defs.communicator(Communicator {
        name: "half",
        group: one,
        parent: Some(ranks.world),
        create_destroy_events: true,
        identity: None,
    });
    defs.inter_communicator(InterCommunicator {
        name: "inter",
        groups: (one, self_group),
        common: Some(ranks.world),
        create_destroy_events: false,
        identity: None,
    });
    let member = defs.metric_member(MetricMember {
        name: "length",
        description: "of a queue",
        origin: MetricOrigin::User,
        mode: MetricMode::AbsoluteNext,
        value_type: Type::U64,
        base: MetricBase::Binary,
        exponent: 10,
        unit: "messages",
    });
    defs.metric_class(MetricClass {
        members: &[member],
        occurrence: MetricOccurrence::Asynchronous,
        recorder: RecorderKind::Cpu,
    });
    archive.finish().unwrap();

    let expected = [
        "CLOCK_PROPERTIES Ticks per Seconds: 2000000, Global Offset: 50, Length: 1000, Date: 2023-11-14 22:13:20.000000000 +0000",
        r#"ATTRIBUTE 0 Name: "tag" <>, Description: "tag of the message" <>, Type: INT32"#,
        r#"PARADIGM 4 MPI, Name: "MPI" <>, Class: PROCESS"#,
        r#"PARADIGM_PROPERTY Paradigm: "MPI" <>, Property: COMM_NAME_TEMPLATE, Type: STRING, Value: "Communicator ${id}" <>"#,
        r#"SYSTEM_TREE_NODE 0 Name: "n1" <>, Class: "node" <>, Parent: UNDEFINED"#,
        r#"SYSTEM_TREE_NODE_DOMAIN System Tree Node: "node::n1" <>, Domain: SHARED_MEMORY"#,
        r#"SYSTEM_TREE_NODE 1 Name: "0" <>, Class: "socket" <>, Parent: "node::n1" <>"#,
        r#"SYSTEM_TREE_NODE_PROPERTY System Tree Node: "socket::0" <>, Name: "system" <>, Type: STRING, Value: "Linux" <>"#,
        r#"LOCATION_GROUP 0 Name: "MPI Rank 0" <>, Type: PROCESS, Parent: "node::n1" <>, Creator: UNDEFINED"#,
        r#"LOCATION 0 Name: "Master" <>, Type: CPU_THREAD, # Events: 0, Group: "MPI Rank 0" <>"#,
        r#"LOCATION_PROPERTY Location: "Master" <>, Name: "source" <>, Type: UINT64, Value: 77"#,
        r#"LOCATION_GROUP 1 Name: "MPI Rank 1" <>, Type: PROCESS, Parent: "node::n1" <>, Creator: UNDEFINED"#,
        r#"LOCATION 1 Name: "Master" <>, Type: CPU_THREAD, # Events: 0, Group: "MPI Rank 1" <>"#,
        r#"LOCATION_GROUP_PROPERTY Location Group: "MPI Rank 1" <>, Name: "pid" <>, Type: INT32, Value: -3"#,
        r#"REGION 0 Name: "MPI_Send" <> (Aka. "MPI_Send" <>), Descr.: "" <>, Role: POINT2POINT, Paradigm: "MPI" <>, Flags: NONE, File: "" <>, Begin: 0, End: 0"#,
        r#"REGION 1 Name: "search posted" <> (Aka. "search_posted" <>), Descr.: "a search of the queue" <>, Role: ARTIFICIAL, Paradigm: MEASUREMENT_SYSTEM, Flags: NONE, File: "match.c" <>, Begin: 10, End: 20"#,
        r#"GROUP 0 Name: "" <>, Type: COMM_LOCATIONS, Paradigm: "MPI" <>, Flags: NONE, 2 Members: "Master" <>, "Master" <>"#,
        r#"GROUP 1 Name: "" <>, Type: COMM_GROUP, Paradigm: "MPI" <>, Flags: NONE, 2 Members: 0 ("Master" <>), 1 ("Master" <>)"#,
        r#"GROUP 2 Name: "one" <>, Type: COMM_GROUP, Paradigm: "MPI" <>, Flags: NONE, 1 Member: 1 ("Master" <>)"#,
        r#"GROUP 3 Name: "self" <>, Type: COMM_SELF, Paradigm: "MPI" <>, Flags: NONE, 0 Members"#,
        r#"GROUP 4 Name: "regions" <>, Type: REGIONS, Paradigm: NONE, Flags: NONE, 1 Member: "MPI_Send" <>"#,
        r#"GROUP 5 Name: "locations" <>, Type: LOCATIONS, Paradigm: NONE, Flags: NONE, 2 Members: "Master" <>, "Master" <>"#,
        r#"COMM 0 Name: "MPI_COMM_WORLD" <>, Group: "" <>, Parent: UNDEFINED, Flags: NONE"#,
        r#"COMM 1 Name: "half" <>, Group: "one" <>, Parent: "MPI_COMM_WORLD" <>, Flags: {CREATE_DESTROY_EVENTS}"#,
        r#"INTER_COMM 2 name: "inter" <>, Group A: "one" <>, Group B: "self" <>, Common Communicator: "MPI_COMM_WORLD" <>, Flags: NONE"#,
        r#"METRIC_MEMBER 0 Name: "length" <>, Descr.: "of a queue" <>, Type: USER, Mode: ABSOLUTE_NEXT, Value Type: UINT64, Base: BINARY, Exponent: 10, Unit: "messages" <>"#,
        r#"METRIC_CLASS 0 Occurrence: ASYNCHRONOUS, Kind: CPU, 1 Member: "length" <>"#,
    ];
    let shown: Vec<String> = support::definitions(directory.path())
        .into_iter()
        .filter(|line| !line.starts_with("STRING "))
        .map(|line| without_numbers(&line))
        .collect();
    assert_eq!(shown.join("\n"), expected.join("\n"));

    let anchor = support::print(directory.path(), &["-I"]);
    for (key, value) in [
        ("Machine name", "a machine"),
        ("Creator", "a tool 1.0"),
        ("Description", "a test"),
        ("Number of locations", "2"),
    ] {
        let line = anchor.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        assert_eq!(line.strip_prefix(key).map(str::trim), Some(value), "{anchor}");
    }
}

/// Takes the numbers out of `<…>`: the names before them say it all.
fn without_numbers(line: &str) -> String {
    let mut parts = line.split('<');
    let first = parts.next().unwrap_or_default().to_owned();
    parts
        .fold(first, |text, part| format!("{text}<{}", part.trim_start_matches(|c: char| c.is_ascii_digit())))
}
