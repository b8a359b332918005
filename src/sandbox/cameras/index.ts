export type { AuthMode } from './auth.ts';
export { type CameraOptions, type SimCamera, startCamera } from './camera.ts';
export type { PlannedAnswer } from './http.ts';
