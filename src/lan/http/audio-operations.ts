import { audioMessageShown, playbackShown, playWish } from '#site/model/index.ts';
import {
  cancelBody,
  importQuery,
  messageList,
  messageParams,
  playbackList,
  playbackParams,
  playbacksQuery,
  removedMessage,
  speakerList,
} from './audio-schemas.ts';
import { lanOperation, problemResponse } from './lan-operation.ts';

const unusable = problemResponse('siteward is starting or stopping, or has too much of this to do');
const shared = { tags: ['audio'] } as const;

const listMessages = lanOperation({
  ...shared,
  id: 'listMessages',
  method: 'GET',
  path: '/api/v1/audio/messages',
  summary: 'The messages that can be played on the speakers, by key',
  responses: { 200: { description: 'All of them', media: 'application/json', schema: messageList }, 503: unusable },
  repeatable: 'yes',
  rules: ['S-170'],
});

const importMessage = lanOperation({
  ...shared,
  id: 'importMessage',
  method: 'POST',
  path: '/api/v1/audio/messages',
  summary: 'Take a sound file (wav, mp3, ogg, flac or m4a) into the library; the same one again changes nothing',
  query: importQuery,
  body: { media: 'application/octet-stream', streamed: true },
  responses: {
    200: { description: 'The message', media: 'application/json', schema: audioMessageShown },
    400: problemResponse('The file, or what is said of it, is not taken; the field is named'),
    409: problemResponse('There is such a message, or no room for another one'),
    503: unusable,
  },
  repeatable: 'yes',
  rules: ['S-170'],
});

const removeMessage = lanOperation({
  ...shared,
  id: 'removeMessage',
  method: 'DELETE',
  path: '/api/v1/audio/messages/{key}',
  summary: 'Remove an imported message',
  params: messageParams,
  responses: {
    200: { description: 'It is gone', media: 'application/json', schema: removedMessage },
    404: problemResponse('There is no such message'),
    409: problemResponse('It is built in, or it is being played or waits for it'),
    503: unusable,
  },
  repeatable: 'yes',
  rules: [],
});

const listSpeakers = lanOperation({
  ...shared,
  id: 'listSpeakers',
  method: 'GET',
  path: '/api/v1/audio/speakers',
  summary: 'The speakers in the order of the configuration, and whether they answer',
  responses: { 200: { description: 'All of them', media: 'application/json', schema: speakerList }, 503: unusable },
  repeatable: 'yes',
  rules: [],
});

const listPlaybacks = lanOperation({
  ...shared,
  id: 'listPlaybacks',
  method: 'GET',
  path: '/api/v1/audio/playbacks',
  summary: 'What plays, waits and was played lately, newest first',
  query: playbacksQuery,
  responses: {
    200: { description: 'Those that are kept', media: 'application/json', schema: playbackList },
    400: problemResponse('A query member is wrong'),
    503: unusable,
  },
  repeatable: 'yes',
  rules: ['S-174', 'safety 4'],
});

const getPlayback = lanOperation({
  ...shared,
  id: 'getPlayback',
  method: 'GET',
  path: '/api/v1/audio/playbacks/{id}',
  summary: 'One playback as it is now',
  params: playbackParams,
  responses: {
    200: { description: 'As it is now', media: 'application/json', schema: playbackShown },
    404: problemResponse('There is no such playback, or it is not kept any more'),
    503: unusable,
  },
  repeatable: 'yes',
  rules: ['S-174', 'safety 4'],
});

const playMessage = lanOperation({
  ...shared,
  id: 'playMessage',
  method: 'POST',
  path: '/api/v1/audio/playbacks',
  summary:
    'Play a message; answers with its first sample, or after a second as it is then; with what the service says where it alone holds it',
  body: { media: 'application/json', schema: playWish },
  responses: {
    200: { description: 'The playback', media: 'application/json', schema: playbackShown },
    400: problemResponse('The request is not taken; the field is named'),
    404: problemResponse('There is no such message or speaker'),
    409: problemResponse('It is not played as things are'),
    503: unusable,
  },
  repeatable: 'by_id',
  rules: ['S-171', 'S-173'],
});

const cancelPlaybacks = lanOperation({
  ...shared,
  id: 'cancelPlaybacks',
  method: 'POST',
  path: '/api/v1/audio/cancel',
  summary: 'End what plays and what waits; answers at once, with those that were meant',
  body: { media: 'application/json', schema: cancelBody },
  responses: {
    200: { description: 'Those it meant, as they are now', media: 'application/json', schema: playbackList },
    400: problemResponse('The body is wrong'),
    404: problemResponse('There is no such playback or speaker'),
    409: problemResponse('It takes the code of somebody who may disarm'),
    503: unusable,
  },
  repeatable: 'yes',
  rules: ['safety 1', 'safety 9', 'C8'],
});

export const audioOperations = {
  listMessages,
  importMessage,
  removeMessage,
  listSpeakers,
  listPlaybacks,
  getPlayback,
  playMessage,
  cancelPlaybacks,
} as const;
