/**
 * @file
 * The MPI_T events interface of MPI-4.1 and 5.0, and the one that was first proposed, for any MPI.
 *
 * Include this file instead of (or after) `mpi.h`. Where `mpi.h` declares the interface itself (it
 * does so from MPI 4.0 on), nothing is declared here; where it is older, this file declares what is
 * missing. Either way the functions are those of `libmpit_events.so`, which is linked before the MPI
 * library, or preloaded:
 *
 *     mpicc program.c -Wl,--no-as-needed -lmpit_events
 *     mpirun env LD_PRELOAD=libmpit_events.so:libtool.so ./program
 *
 * (`--no-as-needed` because some linkers would leave out the MPI library, whose functions this one
 * has too.)
 *
 * What each function does in detail, and what of the standard is not there yet, is written in
 * `docs/conformance.md`. Unless said otherwise a function returns `MPI_SUCCESS`,
 * `MPI_T_ERR_NOT_INITIALIZED` outside of `MPI_T_init_thread` to `MPI_T_finalize`, or `MPI_ERR_ARG`
 * for a null pointer where a value is needed. All functions are thread-safe. Inside a callback that
 * runs in a signal handler only the functions on `MPI_T_event_instance` may be called.
 *
 * There are two dialects of the interface over one set of events, and handles of one may be given to
 * functions of the other:
 *
 * - the standard's (MPI-5.0, section 15.3.8), `MPI_T_event_*` and `MPI_T_source_*`;
 * - the proposal's, of Hermanns, Hjelm, Knobloch, Mohror and Schulz, "The MPI_T Events Interface: An
 *   Early Evaluation and Overview of the Interface", Tables 1 and 2. Its functions are called
 *   `MPIX_T_event_*` and `MPIX_T_source_*` here. With
 *
 *       #define MPIT_EVENTS_PROPOSAL
 *       #include <mpit_events.h>
 *
 *   they have the names of the paper, `MPI_T_event_*` and `MPI_T_source_*`, so that its programs compile
 *   as they are printed. The standard's functions of the same names then are `PMPI_T_*` only.
 *
 * For C99, C11 and C++17. Define `MPIT_EVENTS_DECLARE` as 0 or 1 before inclusion to overrule how
 * this file decides whether `mpi.h` has the declarations.
 */
#ifndef MPIT_EVENTS_H
#define MPIT_EVENTS_H

#include <mpi.h>
#include <stddef.h>

#ifndef MPIT_EVENTS_DECLARE
#if MPI_VERSION >= 4
#define MPIT_EVENTS_DECLARE 0
#else
#define MPIT_EVENTS_DECLARE 1
#endif
#endif

#if MPIT_EVENTS_DECLARE

#ifdef __cplusplus
extern "C" {
#endif

/** A clock cannot be read at any time. */
#ifndef MPI_T_ERR_NOT_SUPPORTED
#define MPI_T_ERR_NOT_SUPPORTED 80
#endif

/** Who listens to which event of which object; null is never a valid one. */
typedef struct mpit_events_registration *MPI_T_event_registration;

/** One occurrence of an event; valid only in the callback that it was given to. */
typedef struct mpit_events_instance *MPI_T_event_instance;

/** What a callback may do where it runs: each level allows less than the one before. */
typedef enum MPI_T_cb_safety {
    /** Anything. */
    MPI_T_CB_REQUIRE_NONE = 0,
    /** Of MPI, only `MPI_T_*`, `MPI_Wtime` and `MPI_Wtick`. */
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    /** Moreover, other threads may be in the same callback. */
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    /** Moreover, a signal handler may be what calls. */
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE
} MPI_T_cb_safety;

/** Whether the callbacks of a source come in the order of their time stamps. */
typedef enum MPI_T_source_order {
    /** They do. */
    MPI_T_SOURCE_ORDERED = 0,
    /** An event may come after a later one. */
    MPI_T_SOURCE_UNORDERED
} MPI_T_source_order;

/**
 * An event callback.
 * @param event_instance      The event; valid until the function returns.
 * @param event_registration  The registration for which it is called.
 * @param cb_safety           What is allowed now: the level at which the event was raised.
 * @param user_data           As given to MPI_T_event_register_callback().
 */
typedef void(MPI_T_event_cb_function)(MPI_T_event_instance event_instance,
                                      MPI_T_event_registration event_registration,
                                      MPI_T_cb_safety cb_safety, void *user_data);

/** Called once when a freed registration is used by nobody any more. */
typedef void(MPI_T_event_free_cb_function)(MPI_T_event_registration event_registration,
                                           MPI_T_cb_safety cb_safety, void *user_data);

/**
 * Called with the number of lost events, before the next one is delivered and when the registration is freed.
 * @param count               Lost events since the last call.
 * @param event_registration  The registration that lost them.
 * @param source_index        The source of the event before which this call is made.
 * @param cb_safety           What is allowed now.
 * @param user_data           Always null.
 */
typedef void(MPI_T_event_dropped_cb_function)(MPI_Count count, MPI_T_event_registration event_registration,
                                              int source_index, MPI_T_cb_safety cb_safety, void *user_data);

/** @name Event types
 * @{ */

/** The number of event types. It may grow, it never shrinks; indices are 0 to that number - 1. */
int MPI_T_event_get_num(int *num_events);

/**
 * The description of an event type. Each output may be a null pointer.
 * @param event_index             Which one; `MPI_T_ERR_INVALID_INDEX` outside the range.
 * @param name,name_len           The unique name, returned as MPI_T returns strings: `name_len` is the
 *                                size of the buffer, then the bytes written with the NUL. With a size
 *                                of 0, or no buffer, it becomes the size needed.
 * @param verbosity               One of `MPI_T_VERBOSITY_*`.
 * @param array_of_datatypes      The elements' datatypes.
 * @param array_of_displacements  Where each lies in what MPI_T_event_copy() gives, in bytes.
 * @param num_elements            In: the size of the arrays. Out: the number of elements.
 * @param enumtype                An enumeration whose items have the elements' names, for
 *                                MPI_T_enum_get_item(); `MPI_T_ENUM_NULL` where there are no elements.
 * @param info                    A new info object, to be freed; `MPI_INFO_NULL` outside of `MPI_Init`
 *                                to `MPI_Finalize`.
 * @param desc,desc_len           What the event means, as a string.
 * @param bind                    The kind of object that a registration is for: `MPI_T_BIND_*`.
 */
int MPI_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
                         MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                         int *num_elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len,
                         int *bind);

/** The index of the event type of this name, or `MPI_T_ERR_INVALID_NAME`. */
int MPI_T_event_get_index(const char *name, int *event_index);

/** @}
 * @name Registrations
 * @{ */

/**
 * Makes a registration.
 * @param event_index         The event type; `MPI_T_ERR_INVALID_INDEX` outside the range.
 * @param obj_handle          The address of the handle of the object to listen to, or that handle itself; ignored
 *                            where the type is bound to none. `MPI_T_ERR_INVALID_HANDLE` for null.
 * @param info                Hints, which are kept; none changes anything.
 * @param event_registration  The new registration, or `MPI_T_ERR_OUT_OF_HANDLES`.
 */
int MPI_T_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
                             MPI_T_event_registration *event_registration);

/** Changes hints: those with other keys stay. `MPI_T_ERR_INVALID_HANDLE` for a registration that is not valid. */
int MPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info);

/** The hints that were given, as a new info object to be freed. */
int MPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used);

/**
 * Installs the callback of one safety level; null removes it. An event is delivered to the callback
 * with the lowest level that is at least the level at which the event is raised; where there is none,
 * it is lost and counted.
 */
int MPI_T_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                  MPI_Info info, void *user_data, MPI_T_event_cb_function event_cb_function);

/** Changes hints of a callback; `MPI_T_ERR_INVALID_HANDLE` where none is installed at this level. */
int MPI_T_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                  MPI_Info info);

/** The hints that were given for a callback, as a new info object to be freed. */
int MPI_T_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                  MPI_Info *info_used);

/**
 * Ends a registration, also in its own callback. `free_cb_function`, which may be null, is called
 * once, when the last callback under way has returned.
 */
int MPI_T_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
                            MPI_T_event_free_cb_function free_cb_function);

/** Installs the handler of lost events; null removes it. The count starts at zero. */
int MPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                    MPI_T_event_dropped_cb_function dropped_cb_function);

/** @}
 * @name Inside a callback
 * @{ */

/** Copies one element to `buffer`: as many bytes as its datatype has. */
int MPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer);

/** Copies all elements to `buffer`, at their displacements. */
int MPI_T_event_copy(MPI_T_event_instance event_instance, void *buffer);

/** When the event was observed, in ticks of its source; the callback may come later. */
int MPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp);

/** The source that the event comes from. */
int MPI_T_event_get_source(MPI_T_event_instance event_instance, int *source_index);

/** @}
 * @name Sources
 * @{ */

/** The number of sources. It may grow, for instance at `MPI_Init`; it never shrinks. */
int MPI_T_source_get_num(int *num_sources);

/**
 * The description of a source. Each output may be a null pointer.
 * @param source_index      Which one; `MPI_T_ERR_INVALID_INDEX` outside the range.
 * @param name,name_len     The unique name.
 * @param desc,desc_len     What this control flow is.
 * @param ordering          Whether its events come in order.
 * @param ticks_per_second  The rate of its clock.
 * @param max_ticks         The largest time stamp that it can give.
 * @param info              A new info object, to be freed; see MPI_T_event_get_info().
 */
int MPI_T_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
                          MPI_T_source_order *ordering, MPI_Count *ticks_per_second, MPI_Count *max_ticks,
                          MPI_Info *info);

/** The time now by the clock of a source, to compare with time stamps of its events. */
int MPI_T_source_get_timestamp(int source_index, MPI_Count *timestamp);

/** @}
 * @name Categories
 * @{ */

/**
 * The number of events in a category (MPI-5.0, section 15.3.9). All events of this library are in the
 * category `mpit_events`, which has an index beside those of MPI's own categories.
 * `MPI_T_ERR_INVALID_INDEX` outside the range.
 */
int MPI_T_category_get_num_events(int cat_index, int *num_events);

/** The indices of the first `len` events in a category. Nothing is written beyond. */
int MPI_T_category_get_events(int cat_index, int len, int indices[]);

/** @}
 * @name The same functions by the names of the profiling interface
 * @{ */
int PMPI_T_event_get_num(int *num_events);
int PMPI_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
                          MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                          int *num_elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len,
                          int *bind);
int PMPI_T_event_get_index(const char *name, int *event_index);
int PMPI_T_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
                              MPI_T_event_registration *event_registration);
int PMPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info);
int PMPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used);
int PMPI_T_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                   MPI_Info info, void *user_data, MPI_T_event_cb_function event_cb_function);
int PMPI_T_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                   MPI_Info info);
int PMPI_T_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                   MPI_Info *info_used);
int PMPI_T_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
                             MPI_T_event_free_cb_function free_cb_function);
int PMPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                     MPI_T_event_dropped_cb_function dropped_cb_function);
int PMPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer);
int PMPI_T_event_copy(MPI_T_event_instance event_instance, void *buffer);
int PMPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp);
int PMPI_T_event_get_source(MPI_T_event_instance event_instance, int *source_index);
int PMPI_T_source_get_num(int *num_sources);
int PMPI_T_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
                           MPI_T_source_order *ordering, MPI_Count *ticks_per_second, MPI_Count *max_ticks,
                           MPI_Info *info);
int PMPI_T_source_get_timestamp(int source_index, MPI_Count *timestamp);
int PMPI_T_category_get_num_events(int cat_index, int *num_events);
int PMPI_T_category_get_events(int cat_index, int len, int indices[]);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* MPIT_EVENTS_DECLARE */

#ifdef __cplusplus
extern "C" {
#endif

/** @name The proposal: types
 * MPI_T_event_cb_function and MPI_T_event_free_cb_function are those of the standard; the user data that
 * they are given is that of MPIX_T_event_handle_alloc().
 * @{ */

/** What a callback may do where it runs (the paper, section 3.3), as the proposal calls it. */
typedef MPI_T_cb_safety MPI_T_event_cb_safety;

/**
 * Called with the number of lost events, before the next one is delivered and when the registration is freed
 * (the paper, Table 2).
 * @param count               Lost events since the last call; `INT_MAX` where they are more.
 * @param event_registration  The registration that lost them.
 * @param cb_safety           What is allowed now.
 * @param user_data           As given to MPIX_T_event_handle_alloc().
 */
typedef void(MPIX_T_event_dropped_cb_function)(int count, MPI_T_event_registration event_registration,
                                               MPI_T_event_cb_safety cb_safety, void *user_data);

/** @}
 * @name The proposal: event type information (the paper, section 3.1)
 * Thread-safe, not for signal handlers.
 * @{ */

/** The number of event types. It may grow, it never shrinks; indices are 0 to that number - 1. */
int MPIX_T_event_get_num(int *num_events);

/**
 * The description of an event type. Each output may be a null pointer.
 * @param event_index             Which one; `MPI_T_ERR_INVALID_INDEX` outside the range.
 * @param name,name_len           The unique name, returned as MPI_T returns strings.
 * @param verbosity               One of `MPI_T_VERBOSITY_*`.
 * @param array_of_datatypes      The elements' datatypes.
 * @param array_of_displacements  Where each lies in what MPIX_T_event_copy() gives, in bytes.
 * @param num_elements            In: the size of the arrays. Out: the number of elements.
 * @param enumtype                An enumeration whose items have the elements' names, for
 *                                MPI_T_enum_get_item(); `MPI_T_ENUM_NULL` where there are no elements.
 * @param extent                  The size of what MPIX_T_event_copy() gives, in bytes.
 * @param description,description_len  What the event means, as a string.
 * @param bind                    The kind of object that a registration is for: `MPI_T_BIND_*`.
 */
int MPIX_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
                          MPI_Datatype *array_of_datatypes, MPI_Aint *array_of_displacements,
                          int *num_elements, MPI_T_enum *enumtype, MPI_Aint *extent, char *description,
                          int *description_len, int *bind);

/** The index of the event type of this name, or `MPI_T_ERR_INVALID_NAME`. */
int MPIX_T_event_get_index(const char *name, int *event_index);

/** @}
 * @name The proposal: registrations (the paper, section 3.2)
 * Thread-safe, not for signal handlers. `MPI_T_ERR_INVALID_HANDLE` for a registration that is not valid.
 * @{ */

/**
 * Makes a registration with its callback.
 * @param event_index         The event type; `MPI_T_ERR_INVALID_INDEX` outside the range.
 * @param object_handle       The address of the handle of the object to listen to, or that handle itself; ignored
 *                            where the type is bound to none. `MPI_T_ERR_INVALID_HANDLE` for null.
 * @param user_data           Given to all callbacks of the registration.
 * @param event_cb_function   Called for each event, whatever the safety level at which it is raised:
 *                            the level is its third argument. `MPI_ERR_ARG` for null.
 * @param event_registration  The new registration, or `MPI_T_ERR_OUT_OF_HANDLES`.
 */
int MPIX_T_event_handle_alloc(int event_index, void *object_handle, void *user_data,
                              MPI_T_event_cb_function event_cb_function,
                              MPI_T_event_registration *event_registration);

/**
 * Ends a registration, also in its own callback. `free_cb_function`, which may be null, is called
 * once, when the last callback under way has returned.
 */
int MPIX_T_event_handle_free(MPI_T_event_registration event_registration,
                             MPI_T_event_free_cb_function free_cb_function);

/** Installs the handler of lost events; null removes it. The count starts at zero. */
int MPIX_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                     MPIX_T_event_dropped_cb_function dropped_cb_function);

/** @}
 * @name The proposal: inside a callback (the paper, sections 3.4 and 3.5)
 * Thread-safe and signal-safe. `MPI_T_ERR_INVALID_HANDLE` for a null event.
 * @{ */

/**
 * Copies one element to `buffer`, which has `size` bytes. Where the element is larger, nothing is
 * written and the answer is `MPI_ERR_ARG`. `MPI_T_ERR_INVALID_INDEX` for an element that is not there.
 */
int MPIX_T_event_read(MPI_T_event_instance event, int element_index, void *buffer, int size);

/**
 * Copies the whole event to `buffer`, which has `size` bytes. Where its extent is larger, nothing is
 * written and the answer is `MPI_ERR_ARG`.
 */
int MPIX_T_event_copy(MPI_T_event_instance event, void *buffer, int size);

/** When the event was observed, in ticks of its source; the callback may come later. */
int MPIX_T_event_get_timestamp(MPI_T_event_instance event, MPI_Count *event_timestamp);

/** The source that the event comes from. */
int MPIX_T_event_get_source(MPI_T_event_instance event, int *source_index);

/** @}
 * @name The proposal: sources (the paper, section 3.6)
 * Thread-safe, not for signal handlers.
 * @{ */

/** The number of sources. It may grow, for instance at `MPI_Init`; it never shrinks. */
int MPIX_T_source_get_num(int *num_sources);

/**
 * The description of a source. Each output may be a null pointer.
 * @param source_index      Which one; `MPI_T_ERR_INVALID_INDEX` outside the range.
 * @param description,description_len  What this control flow is.
 * @param ordering          Whether its events come in order.
 * @param ticks_per_second  The rate of its clock.
 */
int MPIX_T_source_get_info(int source_index, char *description, int *description_len,
                           MPI_T_source_order *ordering, MPI_Count *ticks_per_second);

/** The time now by the clock of a source, in its ticks, to compare with time stamps of its events. */
int MPIX_T_source_get_timestamp(int source_index, MPI_Count *timestamp);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* MPIT_EVENTS_H */

/* Outside of what is included once, so that the dialect may be chosen at any inclusion. */
#if defined(MPIT_EVENTS_PROPOSAL) && !defined(MPIT_EVENTS_PROPOSAL_NAMES)
#define MPIT_EVENTS_PROPOSAL_NAMES

#define MPI_T_event_dropped_cb_function MPIX_T_event_dropped_cb_function
#define MPI_T_event_get_num MPIX_T_event_get_num
#define MPI_T_event_get_info MPIX_T_event_get_info
#define MPI_T_event_get_index MPIX_T_event_get_index
#define MPI_T_event_handle_alloc MPIX_T_event_handle_alloc
#define MPI_T_event_handle_free MPIX_T_event_handle_free
#define MPI_T_event_set_dropped_handler MPIX_T_event_set_dropped_handler
#define MPI_T_event_read MPIX_T_event_read
#define MPI_T_event_copy MPIX_T_event_copy
#define MPI_T_event_get_timestamp MPIX_T_event_get_timestamp
#define MPI_T_event_get_source MPIX_T_event_get_source
#define MPI_T_source_get_num MPIX_T_source_get_num
#define MPI_T_source_get_info MPIX_T_source_get_info
#define MPI_T_source_get_timestamp MPIX_T_source_get_timestamp

#endif /* MPIT_EVENTS_PROPOSAL */
