//! A study in a terminal.

use mel_log::number::{date, duration};
use mel_log::profile::text::layout::{percent, shortened, table_to, wrapped_to};

use super::model::Model;
use super::{COMPUTING, Part, Scaling, Size, Study, growth};

/// The most parts that are shown.
const MOST: usize = 10;
/// The most sentences about what comes to take most.
pub(crate) const MOST_THREATS: usize = 3;

/// The whole text, in so many columns.
#[must_use]
pub fn text(study: &Study, columns: usize) -> String {
    let mut text = head(study, columns);
    text += &format!("\n efficiencies (docs/efficiency.md)\n{}", table_to(columns, &sizes(study), &[]));
    text += &format!("\n{}", wrapped_to(columns, " ", &models_in_words(study)));
    if study.parts.iter().any(|part| part.model.is_some()) {
        text += &table_to(columns, &parts(study, columns), &[4]);
    }
    let threats: Vec<String> = threats(study).collect();
    if !threats.is_empty() {
        text += "\n";
        threats.iter().for_each(|sentence| text += &wrapped_to(columns, " - ", sentence));
    }
    text
}

fn head(study: &Study, columns: usize) -> String {
    let (first, last) = (study.sizes[0].ranks, study.largest());
    let runs: u32 = study.sizes.iter().map(|size| size.runs).sum();
    let scaling = match study.scaling {
        Scaling::Strong => "strong scaling: all ranks together have the same to compute",
        Scaling::Weak => "weak scaling: each rank has the same to compute",
    };
    let mpis = study.mpis.join(" and ");
    let head = format!(
        "{}: {runs} runs of {first} to {last} ranks, the last of {}, {mpis}; {scaling}",
        study.program,
        date(study.started_unix_s)
    );
    wrapped_to(columns, "", &head)
}

/// The efficiencies of each size.
fn sizes(study: &Study) -> Vec<Vec<String>> {
    let is_traced = study.sizes.iter().any(|size| size.transfer.is_some());
    let mut head = vec!["ranks", "time", "speedup", "global", "parallel", "balance", "communication"];
    if is_traced {
        head.extend(["serialisation", "transfer"]);
    }
    head.push("computation");
    let row = |size: &Size| {
        let mut row = vec![size.ranks.to_string(), duration(size.run_s), format!("{:.2}", size.speedup)];
        let known = [
            size.global_efficiency,
            size.parallel_efficiency,
            size.load_balance,
            size.communication_efficiency,
        ];
        row.extend(known.map(percent));
        if is_traced {
            row.extend([size.serialisation, size.transfer].map(|of| of.map_or_else(|| "-".into(), percent)));
        }
        row.push(percent(size.computation_scalability));
        row
    };
    let mut rows = vec![head.into_iter().map(str::to_owned).collect()];
    rows.extend(study.sizes.iter().map(row));
    rows
}

fn models_in_words(study: &Study) -> String {
    match study.sizes.len() {
        2 => "how the times grow is said of three sizes and more; five are better".into(),
        few @ (3 | 4) => format!(
            "the time of a rank, and how it grows with the number of ranks p: estimated by models of {few} sizes \
             (five and more are better)"
        ),
        many => format!(
            "the time of a rank, and how it grows with the number of ranks p: estimated by models of {many} sizes"
        ),
    }
}

/// The number of ranks for which it is said what models expect.
pub(crate) fn ahead(study: &Study) -> u32 {
    study.largest().saturating_mul(16)
}

/// What the time of a rank goes for.
fn parts(study: &Study, columns: usize) -> Vec<Vec<String>> {
    let ahead = ahead(study);
    let head = [
        format!("at {}", study.largest()),
        format!("at {ahead}"),
        "grows".into(),
        "error".into(),
        String::new(),
    ];
    let row = |part: &Part| {
        let now = part.seconds.last().map_or(0.0, |of| of.1);
        let model = part.model.as_ref();
        vec![
            duration(now),
            model.map_or_else(String::new, |model| duration(model.at(ahead.into()))),
            model.map_or_else(|| "not known".into(), |model| model.term.to_string()),
            model.map_or_else(String::new, |model| format!("{:.0} %", model.error * 100.0)),
            shortened(&part.name, columns.saturating_sub(46).max(24)),
        ]
    };
    std::iter::once(head.to_vec()).chain(study.parts.iter().take(MOST).map(row)).collect()
}

/// What will take most, in sentences.
fn threats(study: &Study) -> impl Iterator<Item = String> + '_ {
    study.threats().take(MOST_THREATS).map(|(part, model)| threat(study, part, model))
}

/// What this part will take, in a sentence.
#[must_use]
pub fn threat(study: &Study, part: &Part, model: &Model) -> String {
    let from = part.dominates_from.unwrap_or(0);
    let largest = study.largest();
    let grows = growth(model.term);
    let share = |ranks: u32| {
        let computing = study.parts.iter().find(|part| part.name == COMPUTING).and_then(|part| part.model);
        computing.map(|of| (model.at(ranks.into()), of.at(ranks.into())))
    };
    if from <= u64::from(largest) {
        return format!("{} {grows}, and takes more than anything else from {from} ranks on", part.name);
    }
    let mut sentence =
        format!("{} {grows}: from about {from} ranks on it takes more than anything else", part.name);
    if let Some((own, computing)) = share(ahead(study)) {
        sentence += &format!(
            " (estimated; at {} ranks {} of a rank, beside {} of computing)",
            ahead(study),
            duration(own),
            duration(computing)
        );
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::super::tests::profile;
    use super::*;

    #[test]
    fn the_text_says_what_grows_and_fits() {
        let runs: Vec<_> = [2, 4, 8, 16].map(|ranks| profile(ranks, 1.0, 0.01 * f64::from(ranks))).into();
        let study = Study::of(&runs, None).unwrap();
        let text = text(&study, 90);
        assert!(
            text.contains("each rank has the same") && text.contains("from about 101 ranks on"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 90), "{text}");
        let row = text.lines().find(|line| line.contains("MPI_Barrier")).unwrap();
        assert!(row.contains("160 ms") && row.contains("2.56 s") && row.contains(" p "), "{row}");
    }

    #[test]
    fn two_sizes_have_efficiencies_and_no_models() {
        let runs: Vec<_> = [2, 4].map(|ranks| profile(ranks, 1.0, 0.1)).into();
        let text = text(&Study::of(&runs, None).unwrap(), 100);
        assert!(text.contains("three sizes and more") && text.contains("90.9 %"), "{text}");
    }
}
