/* redist tests and measurements: prototypes of ScaLAPACK, which has no C header. MIT licence, see
   LICENSE. */
#ifndef SCALAPACK_CALLS_H
#define SCALAPACK_CALLS_H

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridmap(int *context, int *ranks, int leading, int rows, int columns);
void Cblacs_gridexit(int context);
void Cblacs_exit(int keep_mpi);
void Cpdgemr2d(int m, int n, const void *a, int ia, int ja, const int *desc_a, void *b, int ib,
               int jb, const int *desc_b, int context);
void Cpsgemr2d(int m, int n, const void *a, int ia, int ja, const int *desc_a, void *b, int ib,
               int jb, const int *desc_b, int context);
void pdgemr2d_(const int *m, const int *n, const double *a, const int *ia, const int *ja,
               const int *desc_a, double *b, const int *ib, const int *jb, const int *desc_b,
               const int *context);

/* p?geadd, p?tran and others; the letter names the type: float, double or complex. */
typedef void geadd(const char *op, const int *m, const int *n, const void *alpha, const void *a,
                   const int *ia, const int *ja, const int *desc_a, const void *beta, void *c,
                   const int *ic, const int *jc, const int *desc_c);
typedef void tran(const int *m, const int *n, const void *alpha, const void *a, const int *ia,
                  const int *ja, const int *desc_a, const void *beta, void *c, const int *ic,
                  const int *jc, const int *desc_c);
geadd psgeadd_, pdgeadd_, pcgeadd_, pzgeadd_;
tran pstran_, pdtran_, pctranu_, pztranu_, pctranc_, pztranc_;

#endif
