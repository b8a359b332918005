import { stringify } from 'yaml';
import { controlOperations } from '#lan/http/index.ts';
import { openApiDocument } from '#lib/contract/openapi.ts';
import { version } from '#lib/version.ts';

/** `docs/openapi/lan.yaml`. */
export function lanApi(): string {
  const document = openApiDocument({
    info: {
      title: 'siteward control socket',
      version,
      description:
        'What "siteward status", "siteward events", "siteward outbox", "siteward media", "siteward schedule" and "siteward user" ask. Members may be added within version 1; readers ignore what they do not know.',
    },
    servers: [{ url: 'http://localhost', description: 'Over the unix socket of http.control_socket; no TCP port' }],
    operations: Object.values(controlOperations),
    // Whoever may open the socket file may ask.
    credentials: { local: 'connection' },
  });
  return `# Made from src/lan/http/operations.ts by "npm run generate"; do not edit.\n${yaml(document)}`;
}

const yaml = (document: object): string => stringify(document, { aliasDuplicateObjects: false, lineWidth: 120 });
