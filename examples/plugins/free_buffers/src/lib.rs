//! A plugin of MEL with a policy: it lets the MPI free buffers that it has allocated and does not need.
//!
//! An MPI may have pools of buffers, and tell in two array variables how many it has allocated of each, and how many it has needed at
//! most. At each sampling interval, where the difference is greater than a threshold in any pool, a control variable switches the freeing
//! on, and another one is set to what each pool is to keep: what was needed. Where it is greater in none, freeing is switched off again.
//! Each process decides for itself.
//!
//! The names are those of MVAPICH2, on which this was not tried. Arguments name others:
//! `--plugin libfree_buffers.so,threshold=100,allocated=VAR,used=VAR,control=CVAR,keep=CVAR`.

use mel_plugin::{Control, Mel, Plugin, plugin};

struct FreeBuffers {
    allocated: String,
    used: String,
    control: String,
    /// Empty: nothing is said of how many are to be kept.
    keep: String,
    threshold: f64,
    /// What was set last; at first nothing.
    frees: Option<bool>,
}

/// What is to be done, given what each pool has and needs: free, down to these numbers; or do not.
fn decide(allocated: &[f64], used: &[f64], threshold: f64) -> Option<Vec<f64>> {
    let wasted = |(allocated, used): (&f64, &f64)| allocated - used > threshold;
    allocated.iter().zip(used).any(wasted).then(|| used.to_vec())
}

impl Plugin for FreeBuffers {
    fn variables(&self) -> String {
        format!("{},{}", self.allocated, self.used)
    }

    fn interrupt_trigger(&mut self, mel: &Mel, seconds: f64, _: u64) {
        let (allocated, used) = (mel.read(&self.allocated), mel.read(&self.used));
        if allocated.is_empty() || used.is_empty() {
            return;
        }
        let free = decide(&allocated, &used, self.threshold);
        // What is as it was is not set again.
        if self.frees == Some(free.is_some()) || (self.frees.is_none() && free.is_none()) {
            return;
        }
        self.frees = Some(free.is_some());
        if let Some(numbers) = &free
            && !self.keep.is_empty()
        {
            let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
            mel.set(&self.keep, &numbers.join(","));
        }
        mel.set(&self.control, if free.is_some() { "1" } else { "0" });
        let what = if free.is_some() { "on" } else { "off" };
        mel.metadata("freeing", &format!("switched {what} after {seconds:.1} s"));
    }

    fn control_set(&mut self, mel: &Mel, control: Control<'_>) {
        if !control.has_value {
            mel.warn(&format!("{}={}: {}", control.name, control.value, control.outcome));
        }
    }
}

fn make(mel: &Mel, arguments: &[String]) -> Option<Box<dyn Plugin>> {
    let mut policy = FreeBuffers {
        allocated: "mv2_vbuf_allocated_array".into(),
        used: "mv2_vbuf_max_use_array".into(),
        control: "MPIR_CVAR_VBUF_POOL_CONTROL".into(),
        keep: "MPIR_CVAR_VBUF_POOL_REDUCED_VALUE".into(),
        threshold: 100.0,
        frees: None,
    };
    for argument in &arguments[1..] {
        match argument.split_once('=') {
            Some(("allocated", name)) => policy.allocated = name.into(),
            Some(("used", name)) => policy.used = name.into(),
            Some(("control", name)) => policy.control = name.into(),
            Some(("keep", name)) => policy.keep = name.into(),
            Some(("threshold", number)) if number.parse::<f64>().is_ok() => {
                policy.threshold = number.parse().ok()?;
            }
            _ => {
                mel.warn(&format!("{argument}: give threshold=N, allocated=, used=, control= or keep=NAME"));
                return None;
            }
        }
    }
    Some(Box::new(policy))
}

plugin!(make);

#[cfg(test)]
mod tests {
    use super::decide;

    #[test]
    fn buffers_are_freed_where_one_pool_has_too_many() {
        assert_eq!(decide(&[10.0, 500.0], &[10.0, 20.0], 100.0), Some(vec![10.0, 20.0]));
        assert_eq!(decide(&[10.0, 120.0], &[10.0, 20.0], 100.0), None);
    }
}
