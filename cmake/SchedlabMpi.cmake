# SPDX-License-Identifier: Apache-2.0
# How tests start ranks: also as root, also with fewer cores than ranks, without a remote shell.
set(SCHEDLAB_MPIRUN
    "${MPIEXEC_EXECUTABLE}"
    --allow-run-as-root
    --oversubscribe
    --bind-to
    none
    --mca
    plm
    isolated
    --mca
    mpi_yield_when_idle
    1)
