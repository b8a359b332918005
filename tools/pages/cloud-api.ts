import { openApiDocument } from '#lib/contract/openapi.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { version } from '#lib/version.ts';
import { cloudCredentials, cloudSchemas, cloudTags, documentedOperations, withEach, yamlPage } from './openapi.ts';

const server = (name: string, host: string, description: string) => ({
  url: `{${name}}`,
  description,
  variables: { [name]: { default: `https://${host}`, description: `cloud.${name} of the configuration` } },
});

const servers = {
  base: server('base_url', 'api.example.net', 'The service'),
  auth: server('auth_url', 'auth.example.net', 'The token server for events'),
  ext: server('ext_base_url', 'ext.example.net', 'The audio messages interface'),
} as const;

/** `docs/openapi/cloud.yaml`. */
export function cloudApi(): string {
  const document = openApiDocument({
    info: {
      title: 'The cloud service siteward delivers to',
      version,
      description:
        'The interface of the cloud, version 0.8 draft, as siteward calls it and its sandbox serves it. "x-rules" are numbers of the checklist made from its specification, "x-repeatable" says whether siteward sends again after a lost reply, "x-availability" for which kind of integration the service offers an operation.',
    },
    servers: [servers.base],
    operations: documentedOperations,
    credentials: cloudCredentials,
    schemas: cloudSchemas,
    tags: cloudTags,
  });
  return yamlPage('src/cloud/contract/', withEach(document, more, documentedOperations));
}

/** Where an operation is served, when that is not the service's own address, and for whom. */
function more({ id, base, availability }: Operation) {
  const elsewhere = id === 'token' ? [servers.base, servers.auth] : base === 'ext' ? [servers.ext] : undefined;
  return {
    ...(elsewhere === undefined ? {} : { servers: elsewhere }),
    ...(availability === undefined ? {} : { 'x-availability': availability }),
  };
}
