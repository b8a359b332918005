import { startCamera } from '#sandbox/cameras/index.ts';

/** So many simulated cameras in one process; prints their addresses as one JSON list and runs until SIGTERM. */
const count = Number(process.argv[2] ?? 1);
const password = process.env.CAMERA_PASSWORD ?? '';
const cameras = await Promise.all(
  Array.from({ length: count }, (_, index) => startCamera({ id: `cam${index + 1}`, password })),
);
console.log(JSON.stringify(cameras.map(({ deviceUrl }) => deviceUrl)));
process.once('SIGTERM', () => void Promise.all(cameras.map((camera) => camera.close())));
