//! Whole-system tests, one file per rule.
//!
//! All are one program, because linking one for each file takes minutes. A file that is added is named here.

mod a_kill_loses_nothing;
mod another_launcher;
mod another_pml;
mod applications;
mod attribution;
mod bad_input;
mod budget;
mod bytes_to_nobody;
mod call_sites_are_lines;
mod calls_are_cheap;
mod cancelled_sends_are_told;
mod closed_descriptors;
mod collectives_by_hand;
mod communicators_add_up;
mod company;
mod connections_by_interface;
mod control_variables;
mod cut_files_are_noticed;
mod disks_of_their_own;
mod doctor_examines_mpis;
mod efficiencies_are_right;
mod envelopes_in_messages;
mod errors_stay_the_programs;
mod events_in_order;
mod events_of_open_mpi_6;
mod fortran_applications;
mod fortran_is_seen_as_c;
mod full_buffers;
mod full_disk;
mod full_tables;
mod hostile_files;
mod hostile_names;
mod hostile_programs_are_not_hurt;
mod inside_collectives;
mod installed_below_a_prefix;
mod killed_ranks_readable;
mod libmel_is_self_contained;
mod limits;
mod links_that_are_slow;
mod many_ranks;
mod matrices;
mod matrices_are_shown;
mod matrices_beside_open_mpi;
mod memory_added;
mod metrics_of_score_p;
mod mistakes_are_found;
mod mpi4py;
mod mpi_inside_the_program;
mod native_events_logged;
mod not_followed;
mod nothing_grows_with_the_past;
mod nothing_left_behind;
mod one_file_has_all;
mod one_screen_at_the_end;
mod operations_below_the_calls;
mod outputs_in_the_docs;
mod packages_install;
mod pages_in_a_browser;
mod pages_show_calls;
mod pages_show_the_network;
mod pages_show_time;
mod papers_are_shown;
mod perfetto_readable;
mod peruse_on_bad_days;
mod peruse_tells_of_ob1;
mod phases_of_programs;
mod placements;
mod planted_problems_are_found;
mod plugins;
mod profiles_agree;
mod profiles_by_other_readers;
mod programs_pass;
mod progress_between_calls;
mod progress_is_told;
mod regions_in_time;
mod remarks_after_good_runs;
mod reports_of_runs;
mod requests_are_freed;
mod results_unchanged;
mod samples_in_logs;
mod scaling_studies;
mod sends_that_wait;
mod set_while_running;
mod several_nodes;
mod slow_ranks_are_explained;
mod slurm_jobs_are_measured;
mod stuck;
mod threads_at_once;
mod traces_as_tables;
mod traces_by_other_readers;
mod traces_have_collectives;
mod traces_readable;
mod traces_show_queues;
mod traces_show_what_was_chosen;
mod traces_written_together;
mod tuning;
mod variables;
mod variables_sampled;
mod verbs_on_a_mock;
mod verdicts_are_right;
mod watching;
mod watching_nodes;
mod who_may_do_what;
mod windows_profiled;
mod windows_tell;

/// A file that is not named would not be compiled, and its tests would be missed by nobody.
#[test]
fn no_file_is_forgotten() {
    let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
        .expect("the tests are there")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in Unicode"))
        .filter(|name| name.ends_with(".rs") && name != "main.rs")
        .collect();
    files.sort();
    let named =
        include_str!("main.rs").lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    assert!(named.map(|name| format!("{name}.rs")).eq(files));
}
