import {
  cameraEventsQuery,
  cameraList,
  cameraMessages,
  cameraParams,
  certificateAnswer,
  trustBody,
  trustedAnswer,
} from './cameras-schemas.ts';
import { lanOperation, problemResponse } from './lan-operation.ts';

const unknown = problemResponse('The configuration has no camera or recorder of this id');
const unusable = problemResponse('siteward, or the camera, cannot answer at the moment');
const shared = { tags: ['cameras'] } as const;

const listCameras = lanOperation({
  ...shared,
  id: 'listCameras',
  method: 'GET',
  path: '/api/v1/cameras',
  summary: 'The cameras, recorders and channels with what is known of them, in the order of the configuration',
  responses: { 200: { description: 'All of them', media: 'application/json', schema: cameraList }, 503: unusable },
  repeatable: 'yes',
  rules: ['safety 4'],
});

const cameraEvents = lanOperation({
  ...shared,
  id: 'cameraEvents',
  method: 'GET',
  path: '/api/v1/cameras/{id}/events',
  summary: 'The last messages of a camera, at most 50, with what siteward made of them',
  params: cameraParams,
  query: cameraEventsQuery,
  responses: {
    200: { description: 'Oldest first', media: 'application/json', schema: cameraMessages },
    400: problemResponse('A query member is wrong'),
    404: unknown,
    409: problemResponse('The messages of this camera are not shown'),
    503: unusable,
  },
  repeatable: 'yes',
  rules: ['safety 4'],
});

const cameraSnapshot = lanOperation({
  ...shared,
  id: 'cameraSnapshot',
  method: 'POST',
  path: '/api/v1/cameras/{id}/snapshot',
  summary: 'A picture taken now, where the setting `pictures` of the camera allows one',
  params: cameraParams,
  responses: {
    200: { description: 'The picture', media: 'image/jpeg' },
    404: unknown,
    409: problemResponse('No picture may be taken of this camera as things are'),
    503: unusable,
  },
  repeatable: 'yes',
  rules: ['safety 4', 'safety 11'],
});

const cameraCertificate = lanOperation({
  ...shared,
  id: 'cameraCertificate',
  method: 'GET',
  path: '/api/v1/cameras/{id}/certificate',
  summary: 'The certificate of a camera that counts, and the other one it shows',
  params: cameraParams,
  responses: {
    200: { description: 'Their fingerprints', media: 'application/json', schema: certificateAnswer },
    404: unknown,
    503: unusable,
  },
  repeatable: 'yes',
  rules: [],
});

const trustCamera = lanOperation({
  ...shared,
  id: 'trustCamera',
  method: 'POST',
  path: '/api/v1/cameras/{id}/trust',
  summary:
    'Take the certificate of this fingerprint, or the device of this name, for the right one, after it was changed',
  params: cameraParams,
  body: { media: 'application/json', schema: trustBody },
  responses: {
    200: { description: 'It is asked anew', media: 'application/json', schema: trustedAnswer },
    400: problemResponse('The fingerprint is none, or there is nothing to take'),
    404: unknown,
    409: problemResponse(
      'The configuration names the certificate, or the camera has none, or shows another; or another device answers',
    ),
    503: unusable,
  },
  repeatable: 'yes',
  rules: [],
});

/** Served on the control socket alone, never on the network. */
export const cameraOperations = { listCameras, cameraEvents, cameraSnapshot, cameraCertificate, trustCamera } as const;
