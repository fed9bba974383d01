"""Solves the Poisson equation on a line by conjugate gradients, each rank holding a part of the line.

    python3 conjugate_gradient.py POINTS

A step takes two sums over all ranks (Allreduce of numpy arrays of one element) and an exchange of the
border points with both neighbours (Sendrecv). The right side is that of a parabola, which the scheme
reproduces exactly: the solution is known, and each point is compared with it.
"""

import sys

import numpy
from mpi4py import MPI


def main():
    world = MPI.COMM_WORLD
    points = int(sys.argv[1])
    begin, end = (points * rank // world.size for rank in (world.rank, world.rank + 1))
    left = world.rank - 1 if world.rank > 0 else MPI.PROC_NULL
    right = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL

    def dot(a, b):
        total = numpy.array([a @ b])
        world.Allreduce(MPI.IN_PLACE, total, MPI.SUM)
        return total[0]

    def apply(vector):
        """2 v[i] - v[i - 1] - v[i + 1], with zeros beyond the ends of the line."""
        padded = numpy.zeros(vector.size + 2)
        padded[1:-1] = vector
        world.Sendrecv(padded[-2:-1], right, recvbuf=padded[:1], source=left)
        world.Sendrecv(padded[1:2], left, recvbuf=padded[-1:], source=right)
        return 2 * vector - padded[:-2] - padded[2:]

    # The parabola x (1 - x), whose second difference is the same everywhere.
    x = numpy.arange(begin + 1, end + 1) / (points + 1)
    known = x * (1 - x)
    residual = numpy.full(end - begin, 2 / (points + 1) ** 2)
    solution, direction = numpy.zeros(end - begin), residual.copy()
    norm, steps = dot(residual, residual), 0
    start = MPI.Wtime()
    while norm > 1e-28 and steps < 2 * points:
        image = apply(direction)
        length = norm / dot(direction, image)
        solution += length * direction
        residual -= length * image
        norm, before = dot(residual, residual), norm
        direction = residual + norm / before * direction
        steps += 1
    seconds = MPI.Wtime() - start

    error = numpy.array([abs(solution - known).max()])
    world.Allreduce(MPI.IN_PLACE, error, MPI.MAX)
    if error[0] > 1e-10:
        sys.exit(f"rank {world.rank}: a point differs by {error[0]:.2g} from the known solution")
    if world.rank == 0:
        print(f"solved in {steps} steps, {seconds / steps * 1e6:.2f} us each")


main()
