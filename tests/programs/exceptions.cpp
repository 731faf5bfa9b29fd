/* C++ as it is written: buffers in containers, requests owned by objects, errors as exceptions.
 *
 * Rank 0 sends vectors whose lengths the others find out by a probe. A truncated receive and a rank that does not exist
 * become exceptions, thrown by the caller of MPI; while one of them unwinds the stack, a destructor cancels a receive. A last
 * one is thrown by an error handler, and so passes through the MPI function that called it.
 *
 * ranks: 2 4
 */
#include "check.h"

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

class Error : public std::runtime_error {
public:
    explicit Error(int code) : std::runtime_error("MPI error"), error_class_(0) { MPI_Error_class(code, &error_class_); }
    int error_class() const { return error_class_; }

private:
    int error_class_;
};

void check(int code)
{
    if (code != MPI_SUCCESS)
        throw Error(code);
}

/* A receive that does not outlive its buffer. */
class Receive {
public:
    Receive(int source, int tag) : value_(-1)
    {
        check(MPI_Irecv(&value_, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &request_));
    }
    Receive(const Receive &) = delete;
    Receive &operator=(const Receive &) = delete;
    ~Receive()
    {
        if (request_ == MPI_REQUEST_NULL)
            return;
        MPI_Cancel(&request_);
        MPI_Wait(&request_, MPI_STATUS_IGNORE);
    }
    int value()
    {
        check(MPI_Wait(&request_, MPI_STATUS_IGNORE));
        return value_;
    }

private:
    int value_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

void send_vectors(int size)
{
    for (int rank = 1; rank < size; rank++)
        for (int length = 1; length <= 1000; length *= 10) {
            std::vector<double> values(static_cast<std::size_t>(length * rank));
            std::iota(values.begin(), values.end(), 0.5);
            check(MPI_Send(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, rank, 1, MPI_COMM_WORLD));
        }
}

void receive_vectors()
{
    for (int round = 0; round < 4; round++) {
        MPI_Status status;
        int length = 0;
        check(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        check(MPI_Get_count(&status, MPI_DOUBLE, &length));
        std::vector<double> values(static_cast<std::size_t>(length), -1.0);
        check(MPI_Recv(values.data(), length, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
        REQUIRE(values.front() == 0.5 && values.back() == length - 0.5);
        mix(static_cast<std::uint64_t>(length));
    }
}

/* What this function returns it has learnt from an exception. */
int unwinds(int size)
{
    try {
        Receive never(0, 77);
        int value = 1;
        check(MPI_Send(&value, 1, MPI_INT, size, 1, MPI_COMM_WORLD));
    } catch (const Error &error) {
        return error.error_class();
    }
    return MPI_SUCCESS;
}

void throw_error(MPI_Comm *, int *code, ...)
{
    throw Error(*code);
}

/* A message is received afterwards: what stands between program and MPI must not have lost count. */
int throws_from_within(int size)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(throw_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    int error_class = MPI_SUCCESS, value = 1;
    try {
        MPI_Send(&value, 1, MPI_INT, size, 1, MPI_COMM_WORLD);
    } catch (const Error &error) {
        error_class = error.error_class();
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    return error_class;
}

int truncates()
{
    std::vector<int> received(1);
    try {
        check(MPI_Recv(received.data(), 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } catch (const Error &error) {
        return error.error_class();
    }
    return MPI_SUCCESS;
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int rank = world_rank(), size = world_size();

    if (rank == 0) {
        send_vectors(size);
        const std::vector<int> four{1, 2, 3, 4};
        for (int other = 1; other < size; other++) {
            check(MPI_Send(four.data(), 4, MPI_INT, other, 2, MPI_COMM_WORLD));
            check(MPI_Send(four.data(), 1, MPI_INT, other, 3, MPI_COMM_WORLD));
        }
    } else {
        receive_vectors();
        REQUIRE(truncates() == MPI_ERR_TRUNCATE);
        REQUIRE(unwinds(size) == MPI_ERR_RANK);
        REQUIRE(throws_from_within(size) == MPI_ERR_RANK);
        REQUIRE(Receive(0, 3).value() == 1);
    }
    return finish();
}
