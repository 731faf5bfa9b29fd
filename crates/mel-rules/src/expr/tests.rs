use super::*;

const KNOWN: [Quantity; 6] = [
    Quantity { name: "mpi", of: None, kind: Kind::Text, meaning: "" },
    Quantity { name: "size", of: None, kind: Kind::Bytes, meaning: "" },
    Quantity { name: "late_share", of: None, kind: Kind::Share, meaning: "" },
    Quantity { name: "run", of: None, kind: Kind::Seconds, meaning: "" },
    Quantity { name: "share", of: Some("an MPI function"), kind: Kind::Share, meaning: "" },
    Quantity { name: "variable", of: Some("a variable"), kind: Kind::List, meaning: "" },
];

struct Some4;

impl Quantities for Some4 {
    fn get(&self, name: &str, argument: Option<&str>) -> Option<Value> {
        Some(match (name, argument) {
            ("mpi", None) => Value::Text("Open MPI".into()),
            ("size", None) => Value::Number(6000.0),
            ("late_share", None) => Value::Number(0.1),
            ("share", Some("MPI_Bcast")) => Value::Number(0.25),
            ("variable", Some("a")) => Value::List(vec![10.0, 20.0, 30.0]),
            ("variable", Some("b")) => Value::List(vec![9.0, 5.0, 30.0]),
            _ => return None,
        })
    }
}

fn value(text: &str) -> Value {
    Expr::parse(text, &KNOWN).unwrap_or_else(|error| panic!("{text}: {error}")).eval(&Some4).unwrap()
}

fn error(text: &str) -> (usize, String) {
    let error = Expr::condition(text, &KNOWN).expect_err(text);
    (error.at, error.message)
}

#[test]
fn numbers_have_units_and_operators_their_order() {
    for (text, number) in [
        ("1 + 2 * 3 - 4 / 2", 5.0),
        ("(1 + 2) * -3", -9.0),
        ("4 KiB", 4096.0),
        ("2.5e2ms + 1 s", 1.25),
        ("50 % * 8 MiB", 4_194_304.0),
        ("1_000 B", 1000.0),
        ("round_up(size + 64, 1 KiB)", 6144.0),
        ("max(variable('a'), 25)", 30.0),
        ("min(variable('b'))", 5.0),
        ("sum(variable('a') - variable('b'))", 16.0),
        ("10 - 3 - 2", 5.0),
    ] {
        assert_eq!(value(text), Value::Number(number), "{text}");
    }
}

#[test]
fn conditions_join_comparisons() {
    for (text, holds) in [
        ("mpi == 'Open MPI' and late_share > 2 %", true),
        ("mpi != \"Open MPI\" or share('MPI_Bcast') >= 25 %", true),
        ("not late_share > 2 % || size < 6 kB", false),
        ("!(size == 6000)", false),
        ("any(variable('a') - variable('b') > 14)", true),
        ("all(variable('a') >= variable('b'))", true),
        ("any(variable('a') > 30)", false),
        ("true and not false", true),
    ] {
        assert_eq!(value(text), Value::Switch(holds), "{text}");
    }
}

#[test]
fn what_is_not_needed_need_not_be_measured() {
    assert_eq!(value("size > 9 kB and run > 1 s"), Value::Switch(false));
    let expr = Expr::condition("size > 1 kB and run > 1 s", &KNOWN).unwrap();
    assert_eq!(expr.eval(&Some4).unwrap_err().to_string(), "run was not measured");
    let expr = Expr::condition("share('MPI_Scan') > 1 %", &KNOWN).unwrap();
    assert_eq!(expr.eval(&Some4).unwrap_err().quantity, "share('MPI_Scan')");
    assert_eq!(expr.quantities(), [("share", Some("MPI_Scan"))]);
}

#[test]
fn errors_say_where_and_what_would_be_right() {
    for (text, at, words) in [
        ("late_shar > 2 %", 0, "nearest: late_share"),
        ("zzzzzzzz > 2", 0, "known are mpi, size, late_share"),
        ("size > 2 s", 5, "bytes > a time cannot be"),
        ("mpi > 'a'", 4, "a text > a text cannot be"),
        ("size > 2 kb", 9, "there is no unit kb; units are %, B, kB"),
        ("size = 2", 5, "== compares"),
        ("size > ", 6, "a value is missing at the end"),
        ("size > (2", 9, "a ) is missing before the end"),
        ("size > 2 3", 9, "3 is not expected here"),
        ("1 < size < 2", 9, "only two are compared at a time"),
        ("share > 2 %", 0, "share needs an MPI function in parentheses"),
        ("share(MPI_Bcast) > 2 %", 6, "needs a name in quotes"),
        ("size('x') > 2", 0, "takes nothing in parentheses"),
        ("size", 0, "this is bytes, and no condition"),
        ("variable('a') > 2", 0, "any(...) or all(...)"),
        ("any(size)", 0, "any takes one list"),
        ("mpi == 'Open", 7, "no closing '"),
        ("size > 1 and and", 13, "a value is missing before and"),
        ("size ? 2", 5, "'?' has no meaning here"),
        ("not size", 0, "not needs true or false"),
        ("max(size, run) > 1", 0, "cannot choose between"),
        ("", 0, "a value is missing"),
    ] {
        let (found, message) = error(text);
        assert!(message.contains(words), "{text}: {message}");
        assert_eq!(found, at, "{text}: {message}");
    }
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    for text in
        ["(".repeat(100_000), "-".repeat(100_000), "not ".repeat(100_000), "1 + ".repeat(100_000) + "1"]
    {
        assert!(Expr::parse(&text, &KNOWN).is_err());
    }
}

proptest::proptest! {
    #[test]
    fn no_text_brings_it_down(text in "[a-z0-9 '\"().,<>=!%&|+*/é-]{0,40}") {
        if let Ok(expr) = Expr::parse(&text, &KNOWN) {
            let _ = expr.eval(&Some4);
        }
    }
}
