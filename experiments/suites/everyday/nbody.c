/* Gravity of all bodies on all bodies: an array of structures, local variables, a function. */
#include <math.h>
#include <stdio.h>

#ifndef N
#ifdef SMALL
#define N 40
#else
#define N 2048
#endif
#endif

typedef struct {
  float x, y, z;
} vector;

struct body {
  vector at, speed;
  float mass;
};

static struct body bodies[N];
static vector pull[N];

static inline float attraction(float mass, float squared)
{
  float distance = sqrtf(squared + 0.01f);
  return mass / (distance * distance * distance);
}

int main(void)
{
  double sum = 0;

  for (int i = 0; i < N; i++) {
    struct body *b = &bodies[i];
    b->at.x = i * 7 % 31;
    b->at.y = i * 5 % 29;
    b->at.z = i * 3 % 23;
    b->mass = 1 + i % 3;
  }
#pragma scop
  for (int i = 0; i < N; i++) {
    vector f;
    f.x = 0;
    f.y = 0;
    f.z = 0;
    for (int j = 0; j < N; j++) {
      float dx = bodies[j].at.x - bodies[i].at.x;
      float dy = bodies[j].at.y - bodies[i].at.y;
      float dz = bodies[j].at.z - bodies[i].at.z;
      float force = attraction(bodies[j].mass, dx * dx + dy * dy + dz * dz);
      f.x += dx * force;
      f.y += dy * force;
      f.z += dz * force;
    }
    pull[i] = f;
  }
  for (int i = 0; i < N; i++) {
    bodies[i].speed.x += 0.01f * pull[i].x;
    bodies[i].speed.y += 0.01f * pull[i].y;
    bodies[i].speed.z += 0.01f * pull[i].z;
  }
#pragma endscop
  for (int i = 0; i < N; i++)
    sum += bodies[i].speed.x + 2 * bodies[i].speed.y + 3 * bodies[i].speed.z;
  printf("%.6g\n", sum);
  return 0;
}
