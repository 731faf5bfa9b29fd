//! Numbers and sizes as text.

/// A number as C++ streams print it by default, and `printf` with `%g`: six significant digits,
/// without trailing zeros, with an exponent where it is below 1e-4 or needs more than six digits.
pub fn general(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    let scientific = format!("{value:.5e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return without_trailing_zeros(&format!("{value:.*}", (5 - exponent) as usize)).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_trailing_zeros(mantissa), exponent.abs())
}

fn without_trailing_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// A duration in the unit that suits it, with three significant digits: `1.20 us`.
pub fn duration(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];
    // 999.6 ns would be written as "1000 ns": such values belong to the next unit.
    let (scale, unit) =
        units.into_iter().find(|(scale, _)| seconds.abs() >= scale * 0.9995).unwrap_or((1e-9, "ns"));
    let value = seconds / scale;
    let decimals = match value.abs() {
        v if v >= 99.95 || v == 0.0 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// The bytes of a size such as `500M` or `2GiB`: a number above zero, and `K`, `M`, `G` or `T` for binary multiples.
pub fn bytes(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match size[digits.len()..].to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok().filter(|number| *number > 0)?.checked_mul(1 << shift)
}

/// The share of a text such as `3%`: above nothing, and not more than half; `none` for no limit.
pub fn share(text: &str) -> Option<Option<f64>> {
    if text == "none" {
        return Some(None);
    }
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    (percent > 0.0 && percent <= 50.0).then_some(Some(percent / 100.0))
}

/// The time of a text such as `500ms`, `2s`, `1.5s` or `1m`; seconds where there is no unit. At least a millisecond, or zero.
pub fn interval(time: &str) -> Option<std::time::Duration> {
    let digits = time.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match time[digits.len()..].trim() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let seconds = digits.parse::<f64>().ok()? * unit;
    let is_possible = seconds == 0.0 || (1e-3..1e9).contains(&seconds);
    is_possible.then(|| std::time::Duration::from_secs_f64(seconds))
}

/// A number of bytes in the binary unit that suits it, with three significant digits from 1 KiB on: `4.00 KiB`.
pub fn size(bytes: f64) -> String {
    let (value, unit) = match bytes {
        b if b < 1023.5 => return format!("{b:.0} B"),
        b if b < 1023.5 * 1024.0 => (b / 1024.0, "KiB"),
        b if b < 1023.5 * 1_048_576.0 => (b / 1_048_576.0, "MiB"),
        b => (b / 1_073_741_824.0, "GiB"),
    };
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// A time in seconds since 1970-01-01 UTC as a date: `2023-11-14 22:13 UTC`; empty where the calendar has none.
pub fn date(unix_s: f64) -> String {
    calendar(unix_s)
        .map_or(String::new(), |(day, hour, minute, _)| format!("{day} {hour:02}:{minute:02} UTC"))
}

/// The same with seconds: `2023-11-14 22:13:20 UTC`.
pub fn instant(unix_s: f64) -> String {
    calendar(unix_s).map_or(String::new(), |(day, hour, minute, second)| {
        format!("{day} {hour:02}:{minute:02}:{second:02} UTC")
    })
}

/// Day, hour, minute and second.
fn calendar(unix_s: f64) -> Option<(String, i32, i32, i32)> {
    let seconds = unix_s as libc::time_t;
    let mut parts = std::mem::MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both point to live values of their types; `gmtime_r` writes only to the second, and all bytes of it are valid before.
    let parts = unsafe {
        if libc::gmtime_r(&raw const seconds, parts.as_mut_ptr()).is_null() {
            return None;
        }
        parts.assume_init()
    };
    let (year, month) = (i64::from(parts.tm_year) + 1900, parts.tm_mon + 1);
    let day = format!("{year:04}-{month:02}-{:02}", parts.tm_mday);
    Some((day, parts.tm_hour, parts.tm_min, parts.tm_sec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_seconds() {
        let millis = |text: &str| interval(text).map(|time| time.as_millis());
        assert_eq!(["500ms", "2s", "1.5", "1m", "0"].map(millis), [500, 2000, 1500, 60_000, 0].map(Some));
        assert_eq!(["", "s", "fast", "1us", "0.1ms", "-1s"].map(millis), [None; 6]);
    }

    #[test]
    fn general_is_what_c_prints() {
        for (value, text) in [
            (1.199621e-6, "1.19962e-06"),
            (625.01, "625.01"),
            (0.0429294, "0.0429294"),
            (7.8e-8, "7.8e-08"),
            (0.0, "0"),
            (1.0, "1"),
            (100000.0, "100000"),
            (999999.5, "1e+06"),
            (1234567.0, "1.23457e+06"),
            (0.0001, "0.0001"),
            (0.00009999995, "0.0001"),
            (0.00001, "1e-05"),
            (-2.5, "-2.5"),
            (1e100, "1e+100"),
            (f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn durations_have_a_unit_that_suits() {
        for (value, text) in [
            (0.0, "0 ns"),
            (7.8e-8, "78.0 ns"),
            (999.6e-9, "1.00 us"),
            (1.2e-6, "1.20 us"),
            (0.571345, "571 ms"),
            (625.01, "625 s"),
            (3.0, "3.00 s"),
        ] {
            assert_eq!(duration(value), text);
        }
    }

    #[test]
    fn a_size_has_a_binary_unit() {
        for (size, number) in
            [("7", 7), ("2k", 2048), ("500M", 500 << 20), ("2GiB", 2 << 30), ("1TB", 1 << 40)]
        {
            assert_eq!(bytes(size), Some(number), "{size}");
        }
        for size in ["", "M", "0", "1.5G", "-1", "3 bags", "99999999999T"] {
            assert_eq!(bytes(size), None, "{size}");
        }
    }

    #[test]
    fn sizes_and_dates_are_short() {
        for (bytes, text) in [
            (0.0, "0 B"),
            (8.0, "8 B"),
            (1024.0, "1.00 KiB"),
            (1_048_000.0, "1023 KiB"),
            (1_048_576.0, "1.00 MiB"),
            (5e12, "4657 GiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(date(1_700_000_000.0), "2023-11-14 22:13 UTC");
        assert_eq!(date(0.0), "1970-01-01 00:00 UTC");
        assert_eq!(instant(1_700_000_000.9), "2023-11-14 22:13:20 UTC");
    }
}
