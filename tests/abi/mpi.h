/* redist tests: what the library and the Fortran module use of MPI 5's standard ABI, as its mpi.h
   declares it: handles are pointers, and there is neither MPI_Fint nor a function that converts
   one. To compile, not to link. MIT licence, see LICENSE. */
#ifndef ABI_MPI_H
#define ABI_MPI_H

#include <stdint.h>

#ifndef MPI_VERSION /* Open MPI 5 says 3, and has what MPI 4 has */
#define MPI_VERSION 5
#endif
#define MPI_SUBVERSION 0
#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0

typedef intptr_t MPI_Aint;

typedef struct {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR, MPI_internal[5];
} MPI_Status;

typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Group *MPI_Group;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Request *MPI_Request;

#define MPI_OP_NULL ((MPI_Op)0x00000020)
#define MPI_SUM ((MPI_Op)0x00000021)
#define MPI_MIN ((MPI_Op)0x00000022)
#define MPI_MAX ((MPI_Op)0x00000023)
#define MPI_COMM_NULL ((MPI_Comm)0x00000100)
#define MPI_COMM_WORLD ((MPI_Comm)0x00000101)
#define MPI_GROUP_NULL ((MPI_Group)0x00000108)
#define MPI_INFO_NULL ((MPI_Info)0x00000130)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x00000142)
#define MPI_REQUEST_NULL ((MPI_Request)0x00000180)
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x00000200)
#define MPI_INT ((MPI_Datatype)0x00000209)
#define MPI_FLOAT ((MPI_Datatype)0x00000210)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x00000212)
#define MPI_DOUBLE ((MPI_Datatype)0x00000214)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x00000216)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x0000021c)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x0000021d)
#define MPI_BYTE ((MPI_Datatype)0x00000247)
#define MPI_INT64_T ((MPI_Datatype)0x00000258)
#define MPI_UINT64_T ((MPI_Datatype)0x00000259)

#define MPI_BOTTOM ((void *)0)
#define MPI_IN_PLACE ((void *)1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_MAX_PROCESSOR_NAME 256

enum { MPI_SUCCESS = 0 };
enum { MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -2, MPI_UNDEFINED = -32766 };
enum { MPI_IDENT = 201, MPI_CONGRUENT = 202, MPI_UNEQUAL = 204 };
enum { MPI_TAG_UB = 501 };
enum { MPI_THREAD_SINGLE = 0, MPI_THREAD_MULTIPLE = 4096 };

/* ---- integers of Fortran ---- */

MPI_Comm MPI_Comm_fromint(int comm);
MPI_Datatype MPI_Type_fromint(int datatype);
MPI_Op MPI_Op_fromint(int op);
int MPI_Type_toint(MPI_Datatype datatype);

/* ---- environment, communicators and groups ---- */

double MPI_Wtime(void);
int MPI_Get_processor_name(char *name, int *length);
int MPI_Query_thread(int *provided);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_compare(MPI_Comm one, MPI_Comm other, int *result);
int MPI_Comm_test_inter(MPI_Comm comm, int *flag);
int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy);
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request);
int MPI_Comm_group(MPI_Comm comm, MPI_Group *group);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Group_translate_ranks(MPI_Group from, int n, const int *ranks, MPI_Group to, int *found);
int MPI_Group_free(MPI_Group *group);

/* ---- datatypes ---- */

int MPI_Type_size(MPI_Datatype type, int *size);
int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint *low, MPI_Aint *extent);
int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *low, MPI_Aint *extent);
int MPI_Type_contiguous(int n, MPI_Datatype type, MPI_Datatype *made);
int MPI_Type_create_hvector(int n, int block, MPI_Aint stride, MPI_Datatype type,
                            MPI_Datatype *made);
int MPI_Type_create_hindexed_block(int n, int block, const MPI_Aint *at, MPI_Datatype type,
                                   MPI_Datatype *made);
int MPI_Type_create_struct(int n, const int *block, const MPI_Aint *at, const MPI_Datatype *type,
                           MPI_Datatype *made);
int MPI_Type_create_resized(MPI_Datatype type, MPI_Aint low, MPI_Aint extent, MPI_Datatype *made);
int MPI_Type_dup(MPI_Datatype type, MPI_Datatype *copy);
int MPI_Type_commit(MPI_Datatype *type);
int MPI_Type_free(MPI_Datatype *type);

/* ---- messages ---- */

int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Send_init(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request);
int MPI_Recv_init(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request *request);
int MPI_Start(MPI_Request *request);
int MPI_Startall(int n, MPI_Request *request);
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int MPI_Testsome(int n, MPI_Request *request, int *done, int *index, MPI_Status *status);
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status);
int MPI_Cancel(MPI_Request *request);
int MPI_Request_free(MPI_Request *request);

/* ---- collective calls ---- */

int MPI_Op_commutative(MPI_Op op, int *commutes);
int MPI_Reduce_local(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op);
int MPI_Ibcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request);
int MPI_Iallgather(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype kind,
                   MPI_Comm comm, MPI_Request *request);
int MPI_Iallreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request);
int MPI_Alltoallv(const void *from, const int *fn, const int *fat, MPI_Datatype ft, void *to,
                  const int *tn, const int *tat, MPI_Datatype tt, MPI_Comm comm);
int MPI_Ialltoallv(const void *from, const int *fn, const int *fat, MPI_Datatype ft, void *to,
                   const int *tn, const int *tat, MPI_Datatype tt, MPI_Comm comm,
                   MPI_Request *request);
int MPI_Ialltoallw(const void *from, const int *fn, const int *fat, const MPI_Datatype *ft,
                   void *to, const int *tn, const int *tat, const MPI_Datatype *tt, MPI_Comm comm,
                   MPI_Request *request);
int MPI_Alltoallv_init(const void *from, const int *fn, const int *fat, MPI_Datatype ft, void *to,
                       const int *tn, const int *tat, MPI_Datatype tt, MPI_Comm comm, MPI_Info info,
                       MPI_Request *request);
int MPI_Alltoallw_init(const void *from, const int *fn, const int *fat, const MPI_Datatype *ft,
                       void *to, const int *tn, const int *tat, const MPI_Datatype *tt,
                       MPI_Comm comm, MPI_Info info, MPI_Request *request);

#endif
