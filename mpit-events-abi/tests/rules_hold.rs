//! The rules of `docs/conformance.md`, checked by C programs as a tool would see them, on every MPI.

use mel_tests::Mpi;

use crate::common;

/// Runs `tests/c/NAME.c` on two ranks. Each must tell of each rule that it holds, as often as the
/// program checks it.
fn rules_hold(program: &str, rules: &[(&str, usize)]) {
    rules_hold_on(program, rules, |_| true);
}

/// The same, on some MPIs.
fn rules_hold_on(program: &str, rules: &[(&str, usize)], is_wanted: impl Fn(&str) -> bool) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for mpi in Mpi::all_and_newer().into_iter().filter(|mpi| is_wanted(mpi.name)) {
        let executable = common::linked(&mpi, program, directory.path());
        let (finished, outputs) = common::run(&mpi, 2, &executable, &[]);
        for output in outputs {
            let wrong: Vec<&str> = output.lines().filter(|line| line.starts_with("WRONG")).collect();
            finished.expect(wrong.is_empty(), &format!("{}: {wrong:#?}", mpi.name));
            for &(rule, times) in rules {
                let holds = format!("holds {rule}");
                let told = output.lines().filter(|line| *line == holds).count();
                finished.expect(told == times, &format!("{}: {told} times {holds} in\n{output}", mpi.name));
            }
        }
        finished.expect(finished.code == Some(0), mpi.name);
        finished.expect(!finished.stderr.contains("[MEL]"), "the library has nothing to complain of");
    }
}

#[test]
fn queries_answer_by_the_rules() {
    rules_hold(
        "queries",
        &[
            ("nothing_works_without_initialisation", 2),
            ("indices_are_dense_and_names_unique", 3),
            ("bad_indices_and_names_are_refused", 3),
            ("outputs_may_be_null_and_arrays_are_cut", 3),
            ("strings_are_cut_to_their_room", 3),
            ("elements_have_names", 3),
            ("allocation_checks_its_arguments", 3),
            ("callbacks_need_a_valid_level_and_handle", 3),
            ("stale_handles_are_refused", 3),
            ("null_instances_are_refused", 3),
            ("bad_sources_are_refused", 3),
            ("categories_of_mpi_keep_their_indices", 3),
            ("our_events_are_in_a_category", 3),
            ("bad_categories_are_refused", 3),
        ],
    );
}

#[test]
fn events_of_windows_are_delivered_by_the_rules() {
    rules_hold(
        "windows",
        &[
            ("window_events_are_of_their_window", 1),
            ("a_window_itself_is_as_good_as_its_address", 1),
            ("the_source_is_the_thread_that_completed", 1),
            ("a_thread_that_ends_leaves_its_source_to_the_next", 1),
            ("what_was_completed_unheard_is_not_told_later", 1),
        ],
    );
}

#[test]
fn what_a_full_ring_loses_is_told() {
    rules_hold("overflow", &[("losses_are_told_before_the_next_event", 1)]);
}

#[test]
fn events_are_delivered_by_the_rules() {
    rules_hold(
        "delivery",
        &[
            ("handles_made_before_mpi_init_deliver", 1),
            ("a_handle_itself_is_as_good_as_its_address", 1),
            ("infos_are_new_and_free", 1),
            ("hints_are_kept_and_given_back", 1),
            ("a_registration_hears_its_object_only", 1),
            ("many_registrations_hear_every_event", 1),
            ("the_lowest_sufficient_level_is_called", 1),
            ("drops_are_told_once_before_the_next_event", 1),
            ("drops_are_told_at_the_end", 1),
            ("events_are_read_and_copied_exactly", 1),
            ("sources_describe_their_clock", 1),
            ("callbacks_may_register_and_free", 1),
            ("registrations_may_be_freed_after_mpi_finalize", 1),
        ],
    );
}

#[test]
fn initialising_again_changes_nothing() {
    rules_hold(
        "reinitialisation",
        &[
            ("names_and_indices_survive_reinitialisation", 1),
            ("registrations_end_with_the_last_finalisation", 1),
        ],
    );
}

#[test]
fn a_tool_may_come_late() {
    // Elsewhere the library follows from the start.
    let rules =
        &[("what_began_before_is_not_taken_for_what_comes_later", 1), ("what_begins_later_is_followed", 1)];
    rules_hold_on("late", rules, |mpi| mpi.starts_with("openmpi"));
}

#[test]
fn threads_are_heard() {
    rules_hold("threads", &[("threads_are_heard_each_on_its_source", 1)]);
}

#[test]
#[ignore = "slow"]
fn lifetimes_hold_under_stress() {
    rules_hold(
        "stress",
        &[
            ("many_handles_hear_one_event_each", 1),
            ("handles_outlive_their_communicators", 1),
            ("threads_register_raise_and_free_at_once", 1),
        ],
    );
}

#[test]
fn the_proposal_holds_by_the_same_rules() {
    rules_hold(
        "proposal",
        &[
            ("nothing_works_without_initialisation", 2),
            ("types_tell_their_extent", 3),
            ("bad_arguments_are_refused", 3),
            ("strings_and_arrays_are_cut", 3),
            ("one_callback_serves_every_level", 1),
            ("a_registration_hears_its_object_only", 1),
            ("small_buffers_are_refused_and_left_alone", 1),
            ("sources_describe_their_clock", 1),
            ("drops_are_told_with_the_user_data", 1),
            ("user_data_reaches_the_free_callback_once", 1),
            ("handles_are_good_in_both_dialects", 1),
            ("handles_made_before_mpi_init_deliver", 1),
        ],
    );
}

#[test]
fn hostile_arguments_do_no_harm() {
    rules_hold(
        "hostile",
        &[
            ("outside_nothing_is_done", 2),
            ("indices_out_of_range_are_refused", 3),
            ("missing_pointers_are_refused", 3),
            ("made_up_handles_are_refused", 3),
            ("outputs_are_given_as_far_as_they_go", 3),
            ("sources_are_told_as_far_as_wanted", 3),
            ("categories_are_told_as_far_as_wanted", 3),
            ("made_up_objects_do_no_harm", 3),
            ("addresses_without_memory_are_refused", 3),
            ("strange_names_are_refused", 3),
            ("events_are_read_within_bounds", 1),
        ],
    );
}
