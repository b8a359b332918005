export { type CameraOptions, type SimCamera, startCamera } from './camera.ts';
