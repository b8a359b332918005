import { openApiDocument } from '#lib/contract/openapi.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { version } from '#lib/version.ts';
import * as control from '#sandbox/cloud/control/operations.ts';
import { cloudCredentials, cloudSchemas, cloudTags, documentedOperations, withEach, yamlPage } from './openapi.ts';

/** Strangers see an unknown path; what does not fit is refused as on the partner interface. */
const refused = {
  400: { description: 'The body or the query is not valid; the answer names the field' },
  404: { description: 'The caller is not on loopback, or there is nothing with this id' },
} as const;

const controlOperations: readonly Operation[] = Object.values(control).map((operation: Operation) => ({
  ...operation,
  responses: {
    ...(operation.body === undefined && operation.query === undefined ? {} : { 400: refused[400] }),
    404: refused[404],
    ...operation.responses,
  },
}));

const operations = [...documentedOperations, ...controlOperations];

/** `docs/openapi/sandbox.yaml`. */
export function sandboxApi(): string {
  const document = openApiDocument({
    info: {
      title: 'The cloud sandbox',
      version,
      description:
        'What "siteward sandbox --control" serves: the interface of the cloud on one address, and the control path "/__sandbox" for loopback. Addresses for pictures and clips come with the answer to an event.',
    },
    servers: [{ url: 'http://127.0.0.1:8080', description: 'siteward sandbox --listen 127.0.0.1:8080 --control' }],
    operations,
    credentials: cloudCredentials,
    schemas: cloudSchemas,
    tags: [...cloudTags, { name: 'control', description: 'For tests, demo and training; loopback only.' }],
  });
  const more = ({ availability }: Operation) => (availability === undefined ? {} : { 'x-availability': availability });
  return yamlPage('src/cloud/contract/ and src/sandbox/cloud/control/', withEach(document, more, operations));
}
