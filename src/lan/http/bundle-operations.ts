import { z } from 'zod';
import { jsonOf, lanOperation, problemResponse } from './lan-operation.ts';

/** One document for whoever helps from afar. What is in it is told before it is made. */

const bundlePart = z.object({ name: z.string(), about: z.string() });
export type BundlePart = z.output<typeof bundlePart>;

export const bundleContents = z.object({ items: z.array(bundlePart) });

export const supportBundle = z.object({
  format: z.literal(1),
  made_at: z.string(),
  contents: z.array(bundlePart),
  /** By the names of the contents. */
  parts: z.record(z.string(), z.unknown()),
  /** Parts that could not be had, and why. */
  missing: z.record(z.string(), z.string()),
});

const shared = { rules: ['safety 4', 'safety 11'], tags: ['diagnostics'] } as const;

const listBundleContents = lanOperation({
  ...shared,
  id: 'listBundleContents',
  method: 'GET',
  path: '/api/v1/support-bundle/contents',
  summary: 'What a support bundle holds',
  responses: { 200: { description: 'Its parts', ...jsonOf(bundleContents) } },
  repeatable: 'yes',
});

const makeSupportBundle = lanOperation({
  ...shared,
  id: 'makeSupportBundle',
  method: 'POST',
  path: '/api/v1/support-bundle',
  summary:
    'Everything that helps to find a fault, without secrets, names of people and silent alarms; it is recorded as an export',
  responses: {
    200: { description: 'One document of a few megabytes at most', ...jsonOf(supportBundle) },
    503: problemResponse('siteward cannot answer at the moment'),
  },
  repeatable: 'yes',
});

export const bundleOperations = { listBundleContents, makeSupportBundle } as const;
