import { startCamera } from '#sandbox/cameras/index.ts';

/**
 * So many simulated cameras in one process, each of which takes so many milliseconds for a picture; prints their addresses as one JSON list and runs until SIGTERM. Each line it reads is
 * answered with the number of requests so far.
 */
const count = Number(process.argv[2] ?? 1);
const pictureMs = Number(process.argv[3] ?? 0);
const password = process.env.CAMERA_PASSWORD ?? '';
const cameras = await Promise.all(
  Array.from({ length: count }, (_, index) => startCamera({ id: `cam${index + 1}`, password, pictureMs })),
);
console.log(JSON.stringify(cameras.map(({ deviceUrl }) => deviceUrl)));
process.stdin.on('data', () => {
  const all = cameras.flatMap((camera) => Object.values(camera.counts()));
  console.log(`requests ${all.reduce((sum, count) => sum + count, 0)}`);
});
process.once('SIGTERM', () => {
  process.stdin.destroy();
  void Promise.all(cameras.map((camera) => camera.close()));
});
