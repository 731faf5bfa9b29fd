/* Children execute other programs, by fork, vfork, system and popen: these inherit the environment, and are no MPI programs.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
        _exit(100);
    }
    REQUIRE(end_of(child) == 3);
    communicate(20);
    child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 4", (char *)NULL);
        _exit(100);
    }
    REQUIRE(end_of(child) == 4);
    REQUIRE(system("exit 5") == 5 << 8);
    FILE *output = popen("echo heard", "r");
    char line[16] = "";
    REQUIRE(output && fgets(line, sizeof line, output) && strcmp(line, "heard\n") == 0);
    REQUIRE(pclose(output) == 0);
    communicate(20);
    return finish();
}
