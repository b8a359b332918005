import type { IncomingMessage } from 'node:http';
import type { AuthMode } from './auth.ts';
import { answerEvents, eventNamespace } from './events.ts';
import { answerPlain, openOperations } from './services.ts';
import { envelope, fault, faultXml, notAuthorized, readSoap, type SoapRequest } from './soap.ts';
import type { CameraState } from './state.ts';

/** An answer planned for the next requests of one operation, in place of the camera's own. */
export interface PlannedAnswer {
  readonly status?: number;
  readonly contentType?: string;
  readonly body: string | Uint8Array;
  /** How many requests get it; default 1, at most 1,000. */
  readonly times?: number;
}

export interface Context {
  readonly state: CameraState;
  readonly planned: Map<string, PlannedAnswer[]>;
  readonly auth: AuthMode;
}

export interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

const bodyCap = 256 * 1024;
const soapType = 'application/soap+xml; charset=utf-8';

/** One HTTP request to the camera. `signal` aborts when the client goes away; the promise then rejects. */
export async function answerHttp(context: Context, request: IncomingMessage, signal: AbortSignal): Promise<HttpAnswer> {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  if (path.startsWith('/snapshot/')) return answerPicture(context, request, signal);
  const match = /^\/onvif\/(?:device_service|media_service|event_service|pullpoint\/(\w+))$/.exec(path);
  if (match === null) return plain(404, 'not found');
  if (request.method !== 'POST') return plain(405, 'use POST', { allow: 'POST' });
  const text = await readText(request);
  const soap = text === undefined ? undefined : readSoap(text);
  if (soap === undefined) {
    return {
      status: 400,
      type: soapType,
      body: faultXml(fault(400, 'Sender', ['ter:WellFormed'], 'Not a SOAP request')),
    };
  }
  context.state.count(soap.operation);
  const planned = plannedFor(context, soap.operation);
  if (planned !== undefined) return planned;
  const verdict = mayCall(context, soap, request);
  if (verdict !== 'yes') return refuse(context, verdict);
  return answerSoap(context.state, soap, match[1], signal);
}

async function answerSoap(
  state: CameraState,
  soap: SoapRequest,
  pointId: string | undefined,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const isEvent = pointId !== undefined || soap.namespace === eventNamespace;
  const answer = isEvent ? await answerEvents(state, soap, { pointId, signal }) : answerPlain(state, soap);
  if (typeof answer !== 'string') return { status: answer.status, type: soapType, body: faultXml(answer) };
  return { status: 200, type: soapType, body: envelope(answer, soap) };
}

type Verdict = 'yes' | 'no' | 'stale';

function mayCall({ state, auth }: Context, soap: SoapRequest, request: IncomingMessage): Verdict {
  if (auth === 'none' || openOperations.has(soap.operation)) return 'yes';
  if (auth !== 'digest' && soap.security !== undefined && state.auth.tokenFits(soap.security)) return 'yes';
  return auth === 'wsse' ? 'no' : digestVerdict(state, request);
}

const digestVerdict = (state: CameraState, request: IncomingMessage): Verdict =>
  state.auth.digestFits(request.headers.authorization ?? '', request.method ?? '', request.url ?? '');

/** 401 with challenges where HTTP digest is spoken, else the SOAP fault alone with 400. */
function refuse({ state, auth }: Context, verdict: Verdict): HttpAnswer {
  state.count('refused');
  const answer = { type: soapType, body: faultXml(notAuthorized) };
  if (auth === 'wsse') return { status: 400, ...answer };
  return { status: 401, ...answer, headers: { 'www-authenticate': state.auth.challenge(verdict === 'stale') } };
}

async function answerPicture(context: Context, request: IncomingMessage, signal: AbortSignal): Promise<HttpAnswer> {
  const { state, auth } = context;
  state.count('snapshot');
  const planned = plannedFor(context, 'snapshot');
  if (planned !== undefined) return planned;
  if (request.method !== 'GET') return plain(405, 'use GET', { allow: 'GET' });
  const verdict = auth === 'none' ? 'yes' : digestVerdict(state, request);
  if (verdict === 'yes') return { status: 200, type: 'image/jpeg', body: await state.picture(signal) };
  state.count('refused');
  return plain(401, 'unauthorized', { 'www-authenticate': state.auth.challenge(verdict === 'stale') });
}

function plannedFor({ planned }: Context, operation: string): HttpAnswer | undefined {
  const answer = planned.get(operation)?.shift();
  if (answer === undefined) return undefined;
  return { status: answer.status ?? 200, type: answer.contentType ?? soapType, body: answer.body };
}

const plain = (status: number, body: string, headers: Record<string, string | string[]> = {}): HttpAnswer => ({
  status,
  type: 'text/plain',
  body,
  headers,
});

/** Undefined past the cap; the rest is read and dropped, so that the answer can be sent. */
async function readText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    total += chunk.length;
    if (total <= bodyCap) chunks.push(chunk);
  }
  return total > bodyCap ? undefined : Buffer.concat(chunks).toString('utf8');
}
