//! What is to be tried: settings that rules advise or that the user gives.

use mel_log::setting::Setting;
use mel_rules::advice::Advice;

/// A setting to try: several variables at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The rule that has it; none where the user has given it.
    pub rule: Option<String>,
    /// What the rule has seen, and why this may be better.
    pub because: String,
    /// Names of control variables and their values.
    pub setting: Vec<(String, String)>,
    /// Environment variables that the launcher reads, and their values.
    pub launcher: Vec<(String, String)>,
}

impl Candidate {
    /// The environment variables that set it for all processes of a job.
    pub fn environment(&self) -> Vec<(String, String)> {
        let setting = self.setting.iter().map(|(name, value)| (Setting::environment_of(name), value.clone()));
        setting.chain(self.launcher.iter().cloned()).collect()
    }

    /// `NAME=VALUE NAME=VALUE`.
    pub fn words(&self) -> String {
        let all = self.setting.iter().chain(&self.launcher);
        all.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    /// One that the user has given: settings with blanks between them.
    ///
    /// # Errors
    /// One of them is none.
    pub fn of_words(words: &str) -> Result<Candidate, String> {
        let setting = words.split_whitespace().map(|word| match word.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(format!("{word} is no setting: give 'NAME=VALUE', several with blanks between them")),
        });
        let setting = setting.collect::<Result<Vec<_>, _>>()?;
        if setting.is_empty() {
            return Err("there is no setting: give 'NAME=VALUE'".into());
        }
        Ok(Candidate { rule: None, because: String::new(), setting, launcher: Vec::new() })
    }
}

/// The best guess of each rule first, then the second ones, and so on: a short budget tries a bit of everything.
pub fn of_advice(said: &[Advice]) -> Vec<Candidate> {
    let most = said.iter().map(|advice| advice.tries.len()).max().unwrap_or(0);
    let mut candidates: Vec<Candidate> = Vec::new();
    for guess in 0..most {
        for advice in said {
            let Some(setting) = advice.tries.get(guess) else { continue };
            if candidates.iter().all(|known| known.setting != *setting) {
                candidates.push(Candidate {
                    rule: Some(advice.rule.clone()),
                    because: advice.text.clone(),
                    setting: setting.clone(),
                    launcher: Vec::new(),
                });
            }
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_guesses_come_first_and_nothing_twice() {
        let advice = |rule: &str, values: &[&str]| Advice {
            rule: rule.into(),
            source: String::new(),
            untested: false,
            text: "t".into(),
            tries: values.iter().map(|value| vec![(rule.to_owned(), (*value).to_owned())]).collect(),
        };
        let candidates = of_advice(&[advice("a", &["1", "2", "1"]), advice("b", &["3"])]);
        let words: Vec<String> = candidates.iter().map(Candidate::words).collect();
        assert_eq!(words, ["a=1", "b=3", "a=2"]);
    }

    #[test]
    fn a_setting_of_the_user_may_have_several_variables() {
        let candidate = Candidate::of_words("coll_tuned_use_dynamic_rules=1 UCX_RNDV_THRESH=inf").unwrap();
        let environment = candidate.environment();
        assert_eq!(environment[0], ("OMPI_MCA_coll_tuned_use_dynamic_rules".into(), "1".into()));
        assert_eq!(environment[1], ("UCX_RNDV_THRESH".into(), "inf".into()));
        assert!(Candidate::of_words("a").is_err() && Candidate::of_words(" ").is_err());
    }
}
