/* What libotf2 alone takes to write records such as a trace of MEL has: the same ones as
 * otf2-writer/examples/archive.rs writes, in the same order. archive.py compares the two.
 *
 *   archive DIRECTORY ITERATIONS
 *
 * Prints how many events were written and how many seconds that took, from the opening of the archive until the last
 * location is closed. There are no definitions: nobody reads it.
 */
#include <otf2/otf2.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RANKS = 4, CHUNK = 4 << 20 };
enum { IRECV, ISEND, WAITALL, SEARCH };
enum { SOURCE, TAG, REQUEST, LENGTH, WAITED };

static void require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "archive: %s failed\n", what);
        exit(1);
    }
}

#define CALL(name, ...) require(name(__VA_ARGS__) == OTF2_SUCCESS, #name)
#define EVENT(name, ...) (events++, CALL(OTF2_EvtWriter_##name, __VA_ARGS__))

static OTF2_FlushType pre_flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)data, (void)type, (void)location, (void)caller, (void)final;
    return OTF2_FLUSH;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void elements(OTF2_AttributeList *list, int source, uint64_t i)
{
    CALL(OTF2_AttributeList_AddInt32, list, SOURCE, source);
    CALL(OTF2_AttributeList_AddInt32, list, TAG, (int32_t)(i % 100));
    CALL(OTF2_AttributeList_AddUint64, list, REQUEST, i + 1);
    CALL(OTF2_AttributeList_AddUint64, list, LENGTH, i % 7);
}

int main(int argc, char **argv)
{
    require(argc == 3, "reading the arguments DIRECTORY ITERATIONS");
    const uint64_t iterations = strtoull(argv[2], NULL, 10);
    const OTF2_FlushCallbacks flush = {.otf2_pre_flush = pre_flush};
    uint64_t events = 0;

    const double begin = now();
    OTF2_Archive *archive = OTF2_Archive_Open(argv[1], "traces", OTF2_FILEMODE_WRITE, CHUNK, CHUNK,
                                              OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    require(archive != NULL, "OTF2_Archive_Open");
    CALL(OTF2_Archive_SetFlushCallbacks, archive, &flush, NULL);
    CALL(OTF2_Archive_SetSerialCollectiveCallbacks, archive);
    CALL(OTF2_Archive_OpenEvtFiles, archive);
    OTF2_AttributeList *list = OTF2_AttributeList_New();
    OTF2_EvtWriter *writers[2 * RANKS];
    for (int location = 0; location < 2 * RANKS; location++)
        writers[location] = OTF2_Archive_GetEvtWriter(archive, (OTF2_LocationRef)location);

    for (uint32_t rank = 0; rank < RANKS; rank++) {
        OTF2_EvtWriter *calls = writers[2 * rank], *searches = writers[2 * rank + 1];
        const uint32_t right = (rank + 1) % RANKS, left = (rank + RANKS - 1) % RANKS;
        const OTF2_Type type = OTF2_TYPE_UINT64;
        for (uint64_t i = 0; i < iterations; i++) {
            const uint64_t at = 1000 * i;
            const uint32_t tag = (uint32_t)(i % 100);
            OTF2_MetricValue length;
            EVENT(Enter, calls, NULL, at, IRECV);
            elements(list, (int)left, i);
            EVENT(Enter, searches, list, at + 100, SEARCH);
            EVENT(Leave, searches, NULL, at + 120, SEARCH);
            length.unsigned_int = 1;
            EVENT(Metric, searches, NULL, at + 120, 0, 1, &type, &length);
            EVENT(MpiIrecvRequest, calls, NULL, at + 200, i + 1);
            EVENT(Leave, calls, NULL, at + 200, IRECV);
            EVENT(Enter, calls, NULL, at + 300, ISEND);
            EVENT(MpiIsend, calls, NULL, at + 300, right, 0, tag, 1024, i + 1);
            EVENT(Leave, calls, NULL, at + 400, ISEND);
            EVENT(Enter, calls, NULL, at + 500, WAITALL);
            elements(list, (int)left, i);
            EVENT(Enter, searches, list, at + 600, SEARCH);
            EVENT(Leave, searches, NULL, at + 630, SEARCH);
            length.unsigned_int = 0;
            EVENT(Metric, searches, NULL, at + 630, 0, 1, &type, &length);
            EVENT(MpiIsendComplete, calls, NULL, at + 700, i + 1);
            CALL(OTF2_AttributeList_AddUint64, list, WAITED, i % 5000);
            EVENT(MpiIrecv, calls, list, at + 700, left, 0, tag, 1024, i + 1);
            EVENT(Leave, calls, NULL, at + 800, WAITALL);
        }
    }
    for (int location = 0; location < 2 * RANKS; location++)
        CALL(OTF2_Archive_CloseEvtWriter, archive, writers[location]);
    printf("events %llu seconds %.6f\n", (unsigned long long)events, now() - begin);
    OTF2_AttributeList_Delete(list);
    CALL(OTF2_Archive_CloseEvtFiles, archive);
    CALL(OTF2_Archive_Close, archive);
    return 0;
}
