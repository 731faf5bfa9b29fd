//! `mpit_events.h` in each language it is for, after each `mpi.h`.

use mel_tests::Mpi;

use crate::common;

/// Uses everything that the header has, so that it is there whoever declares it.
const USES_ALL: &str = r#"
#include <mpit_events.h>
#include <mpit_events.h>

static void on_event(MPI_T_event_instance event, MPI_T_event_registration registration,
                     MPI_T_cb_safety safety, void *data)
{
    MPI_Count stamp;
    int source, element;
    char all[64];
    (void)registration; (void)safety; (void)data;
    MPI_T_event_read(event, 0, &element);
    MPI_T_event_copy(event, all);
    MPI_T_event_get_timestamp(event, &stamp);
    PMPI_T_event_get_source(event, &source);
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)registration; (void)safety; (void)data;
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source,
                       MPI_T_cb_safety safety, void *data)
{
    (void)count; (void)registration; (void)source; (void)safety; (void)data;
}

int use_all(void);
int use_all(void)
{
    MPI_T_event_registration registration;
    MPI_T_source_order order = MPI_T_SOURCE_ORDERED;
    MPI_Count rate, most;
    MPI_Info info;
    MPI_Comm world = MPI_COMM_WORLD;
    int number = 0, events[1];
    MPI_T_event_get_num(&number);
    MPI_T_event_get_index("name", &number);
    MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &info, NULL, NULL, NULL);
    MPI_T_event_handle_alloc(0, &world, MPI_INFO_NULL, &registration);
    MPI_T_event_handle_set_info(registration, info);
    MPI_T_event_handle_get_info(registration, &info);
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, info, NULL, on_event);
    MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, info);
    MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, &info);
    MPI_T_event_set_dropped_handler(registration, on_dropped);
    MPI_T_event_handle_free(registration, NULL, on_free);
    MPI_T_source_get_num(&number);
    MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, &order, &rate, &most, &info);
    MPI_T_source_get_timestamp(0, &rate);
    MPI_T_category_get_num_events(0, &number);
    MPI_T_category_get_events(0, 1, events);
    return order == MPI_T_SOURCE_UNORDERED || number == MPI_T_ERR_NOT_SUPPORTED ||
           number == MPI_T_CB_REQUIRE_NONE;
}
"#;

/// The same in the proposal's dialect, as the paper spells it.
const USES_ALL_OF_THE_PROPOSAL: &str = r#"
#define MPIT_EVENTS_PROPOSAL
#include <mpit_events.h>
#include <mpit_events.h>

static void on_event(MPI_T_event_instance event, MPI_T_event_registration registration,
                     MPI_T_event_cb_safety safety, void *data)
{
    MPI_Count stamp;
    int source, element;
    char all[64];
    (void)registration; (void)safety; (void)data;
    MPI_T_event_read(event, 0, &element, sizeof element);
    MPI_T_event_copy(event, all, sizeof all);
    MPI_T_event_get_timestamp(event, &stamp);
    MPI_T_event_get_source(event, &source);
}

static void on_free(MPI_T_event_registration registration, MPI_T_event_cb_safety safety, void *data)
{
    (void)registration; (void)safety; (void)data;
}

static void on_dropped(int count, MPI_T_event_registration registration, MPI_T_event_cb_safety safety,
                       void *data)
{
    (void)count; (void)registration; (void)safety; (void)data;
}

int use_all(MPI_T_event_cb_function event_cb_function, MPI_T_event_free_cb_function free_cb_function,
            MPI_T_event_dropped_cb_function dropped_cb_function);
int use_all(MPI_T_event_cb_function event_cb_function, MPI_T_event_free_cb_function free_cb_function,
            MPI_T_event_dropped_cb_function dropped_cb_function)
{
    MPI_T_event_registration registration;
    MPI_T_source_order order = MPI_T_SOURCE_ORDERED;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype types[2];
    MPI_Aint displacements[2], extent;
    MPI_T_enum names;
    MPI_Count rate;
    char text[8];
    int number = 0, room = sizeof text, verbosity, bind;
    MPI_T_event_get_num(&number);
    MPI_T_event_get_index("name", &number);
    MPI_T_event_get_info(0, text, &room, &verbosity, types, displacements, &number, &names, &extent, text,
                         &room, &bind);
    MPI_T_event_handle_alloc(0, &world, NULL, on_event, &registration);
    MPI_T_event_handle_alloc(0, &world, NULL, event_cb_function, &registration);
    MPI_T_event_set_dropped_handler(registration, on_dropped);
    MPI_T_event_set_dropped_handler(registration, dropped_cb_function);
    MPI_T_event_handle_free(registration, on_free);
    MPI_T_event_handle_free(registration, free_cb_function);
    MPI_T_source_get_num(&number);
    MPI_T_source_get_info(0, text, &room, &order, &rate);
    MPI_T_source_get_timestamp(0, &rate);
    /* The standard's own functions have other names meanwhile. */
    PMPI_T_event_handle_alloc(0, &world, MPI_INFO_NULL, &registration);
    return order == MPI_T_SOURCE_UNORDERED;
}
"#;

/// Compiles a program in each language, with each `mpi.h`.
fn compiles(program: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for mpi in Mpi::all_and_newer() {
        for (standard, language) in [("c99", "c"), ("c11", "c"), ("c++17", "c++")] {
            let source = directory.path().join("use.c");
            std::fs::write(&source, program).expect("a temporary file");
            let mut command = common::compiler(&mpi, standard);
            // The C++ binding of old mpi.h is not what is looked at.
            command.args(["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-x", language, "-c", "-o"]);
            common::succeed(command.arg(directory.path().join("use.o")).arg(&source));
        }
    }
}

#[test]
fn the_header_compiles_in_c99_c11_and_cxx17() {
    compiles(USES_ALL);
}

#[test]
fn the_proposal_compiles_as_the_paper_spells_it() {
    compiles(USES_ALL_OF_THE_PROPOSAL);
}

#[test]
fn the_dialect_may_be_chosen_after_another_file_has_included_the_header() {
    compiles(&format!("#include <mpit_events.h>\n{USES_ALL_OF_THE_PROPOSAL}"));
}
