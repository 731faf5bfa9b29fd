/* The types and functions of Score-P's interface for metric plugins, version 1, as far as a plugin sees them: for a test where
 * Score-P is not installed. Names, order and values are those of Score-P. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SCOREP_METRIC_PLUGIN_VERSION 1
#define SCOREP_METRIC_PLUGIN_ENTRY(name) extern SCOREP_Metric_Plugin_Info SCOREP_MetricPlugin_##name##_get_info(void)

typedef enum {
    SCOREP_METRIC_MODE_ACCUMULATED_START,
    SCOREP_METRIC_MODE_ACCUMULATED_POINT,
    SCOREP_METRIC_MODE_ACCUMULATED_LAST,
    SCOREP_METRIC_MODE_ACCUMULATED_NEXT,
    SCOREP_METRIC_MODE_ABSOLUTE_POINT
} SCOREP_MetricMode;

typedef enum { SCOREP_METRIC_VALUE_INT64, SCOREP_METRIC_VALUE_UINT64, SCOREP_METRIC_VALUE_DOUBLE } SCOREP_MetricValueType;
typedef enum { SCOREP_METRIC_BASE_BINARY, SCOREP_METRIC_BASE_DECIMAL } SCOREP_MetricBase;
typedef enum { SCOREP_METRIC_PER_THREAD, SCOREP_METRIC_PER_PROCESS, SCOREP_METRIC_PER_HOST, SCOREP_METRIC_ONCE } SCOREP_MetricPer;

typedef enum {
    SCOREP_METRIC_STRICTLY_SYNC,
    SCOREP_METRIC_SYNC,
    SCOREP_METRIC_ASYNC_EVENT,
    SCOREP_METRIC_ASYNC
} SCOREP_MetricSynchronicity;

typedef enum {
    SCOREP_METRIC_SYNCHRONIZATION_MODE_BEGIN,
    SCOREP_METRIC_SYNCHRONIZATION_MODE_BEGIN_MPP,
    SCOREP_METRIC_SYNCHRONIZATION_MODE_END
} SCOREP_MetricSynchronizationMode;

typedef struct {
    uint64_t timestamp;
    uint64_t value;
} SCOREP_MetricTimeValuePair;

typedef struct {
    char *name;
    char *description;
    SCOREP_MetricMode mode;
    SCOREP_MetricValueType value_type;
    SCOREP_MetricBase base;
    int64_t exponent;
    char *unit;
} SCOREP_Metric_Plugin_MetricProperties;

typedef struct {
    uint32_t plugin_version;
    SCOREP_MetricPer run_per;
    SCOREP_MetricSynchronicity sync;
    uint64_t delta_t;
    int32_t (*initialize)(void);
    void (*finalize)(void);
    SCOREP_Metric_Plugin_MetricProperties *(*get_event_info)(char *token);
    int32_t (*add_counter)(char *metric_name);
    uint64_t (*get_current_value)(int32_t id);
    bool (*get_optional_value)(int32_t id, uint64_t *value);
    void (*set_clock_function)(uint64_t (*clock_time)(void));
    uint64_t (*get_all_values)(int32_t id, SCOREP_MetricTimeValuePair **time_value_list);
    void (*synchronize)(bool is_responsible, SCOREP_MetricSynchronizationMode sync_mode);
    uint64_t reserved[92];
} SCOREP_Metric_Plugin_Info;
