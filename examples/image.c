/* A picture is scattered over all ranks, processed, and gathered again, rotated. MIT licence, see
   LICENSE.
   mpicc -I. examples/image.c -o image -lm && mpiexec -n 4 ./image --turns 1 --picture turned.pgm

   Scattering is a redistribution from a layout on one rank, gathering one to it; no other routine
   is needed. A layout of undistributed axes has a single place, on rank 0. What is gathered may be
   a view, here the picture rotated by 90 degrees. Ranks that own nothing of a layout pass NULL. */
#include <math.h>
#include <mpi.h>

#include "options.h"
#include "pgm.h"
#include "redist_plan.h"

enum { KEEP, NEGATIVE, EQUALISE };

typedef struct {
  const char *from, *picture;
  int64_t turns;
  int effect, rank, ranks;
} settings;

/* Rank 0 prints the error. Returns the exit status. */
static int fail(const settings *s, const char *what, const char *why) {
  if (s->rank == 0) fprintf(stderr, "image: %s: %s\n", what, why);
  return 1;
}

/* Redistributes once: all ranks succeed, or all fail. */
static int move(const settings *s, const redist_layout *from, const double *a,
                const redist_layout *to, double *b) {
  char message[256] = "";
  redist_plan *plan = NULL;
  redist_options options;
  memset(&options, 0, sizeof options);
  options.method = REDIST_POINT_TO_POINT; /* quick to plan, for a single execution */
  options.message = message;
  options.message_size = sizeof message;
  if (redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan) != REDIST_OK)
    return fail(s, "no plan", message);
  if (redist_execute(plan, a, b) != REDIST_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  return redist_plan_free(&plan);
}

/* Without a file: dim rings, so that there is something to equalise. */
static const char *draw_rings(pgm *picture) {
  picture->width = 640;
  picture->height = 400;
  picture->white = 255;
  picture->values = malloc(640 * 400 * sizeof *picture->values);
  for (int64_t i = 0; picture->values && i < 400; i++)
    for (int64_t j = 0; j < 640; j++)
      picture->values[i * 640 + j] = floor(100 + 30 * sin(hypot((double)i, (double)j) / 12));
  return picture->values ? NULL : "not enough memory";
}

/* Rank 0 has the picture; all ranks get its size, or learn that there is none. */
static int read_picture(const settings *s, pgm *picture) {
  const char *wrong = s->rank != 0 ? NULL
                      : s->from    ? pgm_read(s->from, picture)
                                   : draw_rings(picture);
  int64_t header[4] = {wrong != NULL, picture->width, picture->height, picture->white};
  MPI_Bcast(header, 4, MPI_INT64_T, 0, MPI_COMM_WORLD);
  picture->width = header[1];
  picture->height = header[2];
  picture->white = (int)header[3];
  return header[0] ? fail(s, s->from ? s->from : "rings", wrong) : 0;
}

/* tone[g]: what the grey value g becomes. Equalised, each tone's share of the pixels is its share
   of the scale. */
static void choose_tones(int effect, int white, const double *pixel, int64_t pixels, int *tone) {
  int64_t *count = calloc(2 * ((size_t)white + 1), sizeof *count), *all = count + white + 1,
          below = 0;
  if (!count) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int64_t k = 0; k < pixels; k++) count[(int)pixel[k]]++;
  MPI_Allreduce(count, all, white + 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  for (int g = 0; g < white; g++) all[g + 1] += all[g]; /* the pixels that are at most as bright */
  for (int g = 0; g <= white; g++, below = all[g - 1])
    tone[g] = effect == KEEP ? g
              : effect == NEGATIVE
                  ? white - g
                  : (int)((double)white * (double)(below + all[g]) / (2 * (double)all[white]));
  free(count);
}

/* The origin of pixel (i, j) of the rotated picture, found by rotating back. */
static int64_t origin(const pgm *p, int64_t i, int64_t j, int64_t turns) {
  for (; turns > 0; turns--) {
    int64_t above = i;
    i = j;
    j = (turns % 2 == 1 ? p->width : p->height) - 1 - above;
  }
  return i * p->width + j;
}

/* Rank 0 compares the result with the original picture, and writes it. */
static int check_and_write(const settings *s, const pgm *before, const pgm *after,
                           const int *tone) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < after->height; i++)
    for (int64_t j = 0; j < after->width; j++)
      wrong += after->values[i * after->width + j] !=
               tone[(int)before->values[origin(before, i, j, s->turns)]];
  const char *unwritten = s->picture ? pgm_write(s->picture, after, 1) : NULL;
  if (unwritten) return fail(s, s->picture, unwritten);
  printf("  %lld of %lld pixels are wrong\n", (long long)wrong,
         (long long)(after->width * after->height));
  return wrong != 0;
}

/* Returns the exit status. */
static int process(const settings *s, pgm *before) {
  int grid[2] = {0, 0}, status, *tone = malloc(((size_t)before->white + 1) * sizeof *tone);
  MPI_Dims_create(s->ranks, 2, grid);
  const pgm after = {s->turns % 2 ? before->height : before->width,
                     s->turns % 2 ? before->width : before->height, before->white,
                     s->rank == 0 ? calloc((size_t)(before->width * before->height), sizeof(double))
                                  : NULL};
  const redist_layout whole =
      redist_layout_2d(redist_whole(before->height), redist_whole(before->width));
  const redist_layout result =
      redist_layout_2d(redist_whole(after.height), redist_whole(after.width));
  const redist_layout bricks = redist_layout_2d(redist_balanced(before->height, grid[0]),
                                                redist_balanced(before->width, grid[1]));
  const redist_layout turned = redist_rotated(bricks, (int)s->turns);
  const int64_t pixels = redist_layout_local_size(&bricks, s->rank);
  double *pixel = calloc((size_t)pixels + 1, sizeof *pixel);
  if (!tone || !pixel || (s->rank == 0 && !after.values)) MPI_Abort(MPI_COMM_WORLD, 1);

  status = move(s, &whole, before->values, &bricks, pixel); /* scatter */
  choose_tones(s->effect, before->white, pixel, pixels, tone);
  for (int64_t k = 0; k < pixels; k++) pixel[k] = tone[(int)pixel[k]];
  if (status == 0) status = move(s, &turned, pixel, &result, after.values); /* gather */

  if (s->rank == 0 && status == 0) {
    printf("%lld x %lld pixels in %d x %d bricks, gathered after %lld quarter turns\n",
           (long long)before->width, (long long)before->height, grid[0], grid[1],
           (long long)s->turns);
    status = check_and_write(s, before, &after, tone);
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  free(tone), free(pixel), free(after.values);
  return status;
}

int main(int argc, char **argv) {
  static const option_choice effects[] = {{"keep", KEEP},
                                          {"negative", NEGATIVE},
                                          {"equalise", EQUALISE},
                                          {NULL, 0}};
  settings s = {.effect = EQUALISE};
  pgm picture = {0, 0, 0, NULL};
  const option table[] = {{.name = "--from",
                           .argument = "FILE",
                           .text = &s.from,
                           .help = "a PGM picture, P2 or P5 (default: rings)"},
                          {.name = "--picture",
                           .argument = "FILE",
                           .text = &s.picture,
                           .help = "where to write the result (default: nowhere)"},
                          {.name = "--effect",
                           .argument = "NAME",
                           .choice = &s.effect,
                           .choices = effects,
                           .help = "on the grey values (default equalise)"},
                          {.name = "--turns",
                           .argument = "Q",
                           .integer = &s.turns,
                           .least = 0,
                           .most = 3,
                           .help = "by 90 degrees, counter-clockwise (default 0)"},
                          {.name = NULL}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  int status = options_start(
      table, argc, argv, s.rank, "image",
      "Teaches gathering and scattering: a layout on one rank is all it takes, and views come free.\n"
      "Scatters a picture, equalises its grey values, and gathers it, turned.");
  if (status < 0 && (status = read_picture(&s, &picture)) == 0) status = process(&s, &picture);
  free(picture.values);
  MPI_Finalize();
  return status;
}
