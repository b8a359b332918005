import { lanOperation, problemResponse } from './lan-operation.ts';
import { mediaDetail, mediaExport, mediaList, mediaParams, mediaPieceBody, mediaQuery } from './media-schemas.ts';

const unknown = problemResponse('No event of this number announced pictures or clips');
const unreadable = problemResponse('The store, or the disk, cannot be read at the moment');
const shared = { tags: ['media'] } as const;

const listMedia = lanOperation({
  ...shared,
  id: 'listMedia',
  method: 'GET',
  path: '/api/v1/media',
  summary: 'Events with the pictures and clips they announced, newest first',
  query: mediaQuery,
  responses: {
    200: { description: 'One page', media: 'application/json', schema: mediaList },
    400: problemResponse('A query member is wrong'),
    503: unreadable,
  },
  repeatable: 'yes',
  rules: ['safety 4'],
});

const getMedia = lanOperation({
  ...shared,
  id: 'getMedia',
  method: 'GET',
  path: '/api/v1/media/{seq}',
  summary: 'What one event announced, and whether the files are still on this box',
  params: mediaParams,
  responses: {
    200: { description: 'All of it', media: 'application/json', schema: mediaDetail },
    404: unknown,
    503: unreadable,
  },
  repeatable: 'yes',
  rules: ['safety 4'],
});

const exportMedia = lanOperation({
  ...shared,
  id: 'exportMedia',
  method: 'POST',
  path: '/api/v1/media/{seq}/export',
  summary: 'Begin to take the files of one event along; this, or its refusal, is in the audit log',
  params: mediaParams,
  responses: {
    200: { description: 'What can be taken, and why the rest cannot', media: 'application/json', schema: mediaExport },
    404: unknown,
    503: unreadable,
  },
  repeatable: 'yes',
  rules: ['safety 4', 'safety 11'],
});

const readMedia = lanOperation({
  ...shared,
  id: 'readMedia',
  method: 'POST',
  path: '/api/v1/media/read',
  summary: 'A piece of a file of an export, at most 1 MiB; empty behind its end',
  body: { media: 'application/json', schema: mediaPieceBody },
  responses: {
    200: { description: 'The piece', media: 'application/octet-stream' },
    400: problemResponse('The body is wrong'),
    404: problemResponse('The export is not known, or the file is gone'),
    503: unreadable,
  },
  repeatable: 'yes',
  rules: ['safety 11'],
});

export const mediaOperations = { listMedia, readMedia, getMedia, exportMedia } as const;
