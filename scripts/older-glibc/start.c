/* How a program begins where glibc is older than 2.34. Since then the C library calls a program's constructors itself, and
 * the start code of newer systems gives it no function that does; older ones want one. Newer ones call it, too, and then do
 * nothing themselves. */

typedef void constructor(int, char **, char **);
typedef int entry(int, char **, char **);

extern constructor *__init_array_start[] __attribute__((visibility("hidden")));
extern constructor *__init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void);

__asm__(".symver older_start, __libc_start_main@GLIBC_2.2.5");
extern int older_start(entry *, int, char **, constructor *, void (*)(void), void (*)(void), void *);

static void construct(int count, char **arguments, char **environment)
{
    _init();
    for (constructor **each = __init_array_start; each < __init_array_end; each++)
        (*each)(count, arguments, environment);
}

__attribute__((visibility("hidden"))) int __wrap___libc_start_main(
    entry *main, int count, char **arguments, constructor *none, void (*end)(void), void (*linker_end)(void), void *stack)
{
    (void)none;
    return older_start(main, count, arguments, construct, end, linker_end, stack);
}
