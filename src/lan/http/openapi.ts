import { setImmediate as nextTurn } from 'node:timers/promises';
import { apiError } from '#cloud/contract/index.ts';
import type { By } from '#lan/access/index.ts';
import { type JsonObject, type OpenApiOptions, openApiDocument } from '#lib/contract/openapi.ts';
import type { Operation } from '#lib/contract/operation.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { version } from '#lib/version.ts';
import { cameraEntry } from './cameras-schemas.ts';
import { cloudOperations } from './cloud-operations.ts';
import { deviceEntry } from './devices.ts';
import type { openApiOperations } from './openapi-operations.ts';
import { lanOperations } from './operations.ts';
import { partitionEntry } from './partitions.ts';
import { eventEntry, problem, statusDocument } from './schemas.ts';
import { zoneEntry } from './zones.ts';

const about: Omit<OpenApiOptions, 'operations'> = {
  info: {
    title: 'siteward LAN API',
    version,
    description:
      'What one bridge answers on its HTTPS address, and on the unix socket of http.control_socket. Members may be added within version 1; readers ignore what they do not know.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: 'https://siteward.local:8443', description: 'The address of http.listen' }],
  credentials: {
    // Whoever may open the socket file may ask.
    local: 'connection',
    session: {
      ...{ type: 'apiKey', in: 'cookie', name: '__Host-sw' },
      description: 'Opened by login; for pages of this bridge.',
    },
    api_key: {
      ...{ type: 'http', scheme: 'bearer' },
      description: 'Made by addKey, with the scopes of the operations it is for.',
    },
  },
  schemas: {
    ApiError: apiError,
    Camera: cameraEntry,
    Device: deviceEntry,
    Event: eventEntry,
    Partition: partitionEntry,
    Problem: problem,
    Status: statusDocument,
    Zone: zoneEntry,
  },
};

const operations: readonly Operation[] = Object.values<Operation>({ ...lanOperations, ...cloudOperations });

/** Everything a listener serves, as an OpenAPI document. */
export const lanDocument = (): JsonObject => openApiDocument({ ...about, operations });

type Paths = Readonly<Record<string, JsonObject>>;
type Components = Readonly<Record<string, JsonObject>>;

/** The same, made one operation after the other: at once it would hold up everything else for a tenth of a second. */
async function documentInTurns(): Promise<JsonObject> {
  const paths: Record<string, JsonObject> = {};
  const components: Record<string, JsonObject> = {};
  let document: JsonObject = {};
  for (const operation of operations) {
    document = openApiDocument({ ...about, operations: [operation] });
    for (const [path, item] of Object.entries(document.paths as Paths)) paths[path] = { ...paths[path], ...item };
    for (const [kind, parts] of Object.entries((document.components ?? {}) as Components))
      components[kind] = { ...components[kind], ...parts };
    await nextTurn();
  }
  return { ...document, paths, components };
}

export function openApiHandlers(): Handlers<typeof openApiOperations, By> {
  let text: Promise<string> | undefined;
  return {
    async getOpenApi() {
      text ??= documentInTurns().then((document) => JSON.stringify(document));
      const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
      return { status: 200, body: await text, headers };
    },
  };
}
