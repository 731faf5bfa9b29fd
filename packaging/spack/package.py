# For Spack: a folder mel/ with this file in a repository of yours, see packaging/README.md.
import os

from spack.package import *


class Mel(MakefilePackage):
    """MEL, the MPI_T Events Logger: shows where an unmodified MPI program loses time, at which line, which rank is the
    cause, and how long messages wait in the queues of MPI. One build serves all MPIs."""

    # Where the source is, and its versions: those of your mirror. `spack dev-build mel@main` takes a checkout.
    version("main")

    license("Apache-2.0 OR MIT")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    # Linked in where it has a static library, else opened when a trace is written.
    depends_on("otf2@3:", type=("build", "link", "run"))

    def setup_build_environment(self, env):
        env.set("OTF2_CONFIG", self.spec["otf2"].prefix.bin.join("otf2-config"))
        env.set("CARGO_HOME", os.path.join(self.stage.path, "cargo"))

    def setup_run_environment(self, env):
        env.prepend_path("LD_LIBRARY_PATH", self.spec["otf2"].prefix.lib)

    def build(self, spec, prefix):
        make("build")

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_installed(self):
        Executable(self.prefix.bin.mel)("--version")
