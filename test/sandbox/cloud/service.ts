import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { SignJWT } from 'jose';
import { type CloudOptions, type SandboxCloud, startCloud } from '../../../src/sandbox/cloud/index.ts';

/** A running service with one client that may post events, one that may not, and raw HTTP towards it. */
export interface Service {
  readonly cloud: SandboxCloud;
  readonly privateKey: KeyObject;
}

export const keyPair = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString();

export async function startService(options: Partial<CloudOptions> = {}): Promise<Service> {
  const { publicKey, privateKey } = keyPair();
  const cloud = await startCloud({
    listen: { host: '127.0.0.1', port: 0 },
    control: true,
    clients: [
      { clientId: 'bridge-1', publicKeyPem: pem(publicKey), kid: 'k1' },
      { clientId: 'no-events', publicKeyPem: pem(publicKey), mayIngest: false },
      { clientId: 'partner-1', clientSecret: 's3cr+t/%:x' },
    ],
    ...options,
  });
  return { cloud, privateKey };
}

export { pem };

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly json: any;
}

/** One raw HTTP request, never through siteward's client. */
export function send(
  url: string,
  options: { method?: string; headers?: Record<string, string | string[]>; body?: string | Uint8Array } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: options.method ?? 'GET', headers: options.headers, agent: false });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parse(text) });
      });
    });
    request.end(options.body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const nowS = () => Math.floor(Date.now() / 1000);

/** The claims of a good assertion; an override of `undefined` leaves one out. */
export function claims(service: Service, overrides: Record<string, unknown> = {}): Record<string, unknown> {
  const iat = nowS();
  return {
    iss: 'bridge-1',
    sub: 'bridge-1',
    aud: service.cloud.url,
    iat,
    exp: iat + 300,
    jti: randomUUID(),
    ...overrides,
  };
}

export function sign(
  service: Service,
  overrides: Record<string, unknown> = {},
  options: { alg?: string; kid?: unknown; key?: KeyObject | Uint8Array } = {},
): Promise<string> {
  const header = { alg: options.alg ?? 'RS256', ...(options.kid === undefined ? {} : { kid: options.kid as string }) };
  return new SignJWT(claims(service, overrides)).setProtectedHeader(header).sign(options.key ?? service.privateKey);
}

export const form = (fields: Record<string, string> | [string, string][]) => new URLSearchParams(fields).toString();

export const postForm = (service: Service, body: string, headers: Record<string, string> = {}) =>
  send(`${service.cloud.url}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body,
  });

export const exchange = (service: Service, assertion: string) =>
  postForm(service, form({ grant_type: grantType, assertion }));

export async function eventToken(service: Service, clientId = 'bridge-1'): Promise<string> {
  const answer = await exchange(service, await sign(service, { iss: clientId, sub: clientId }));
  return answer.json.access_token;
}

export const event = (overrides: Record<string, unknown> = {}): Record<string, unknown> => ({
  version: '1.0',
  location_id: 'hq',
  recorder_id: 'sw-1',
  camera_id: 'yard',
  event_id: randomUUID(),
  event_type: 'alarm',
  event_status: 'active',
  event_time: '2026-01-02T03:04:05.000Z',
  sent_at: new Date().toISOString(),
  should_signal_to_monitoring_center: true,
  upload_snapshot_count: 0,
  upload_short_mp4: false,
  upload_event_mp4: false,
  payload: {},
  ...overrides,
});

export const postEvent = (service: Service, token: string, body: unknown) =>
  send(`${service.cloud.url}/partner/v1/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

export const control = (service: Service, method: string, path: string, body?: unknown) =>
  send(`${service.cloud.url}/__sandbox/${path}`, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
