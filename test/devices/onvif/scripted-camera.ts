import { createHash } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** One request as it came over the wire. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  /** Local name of the first element in the SOAP body; empty for pictures. */
  readonly operation: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export type Reply =
  | {
      readonly status?: number;
      readonly headers?: Record<string, string | string[]>;
      readonly body?: string | Uint8Array;
    }
  /** Headers, then nothing, for ever. */
  | { readonly hang: true }
  /** A few bytes, then one after the other, for ever. */
  | { readonly drip: string }
  /** The connection is cut in the middle of the answer. */
  | { readonly cut: string }
  /** Bytes without end. */
  | { readonly endless: Uint8Array }
  /** The socket is reset without an answer. */
  | { readonly reset: true };

export type Script = (request: Seen, camera: ScriptedCamera) => Reply | Promise<Reply>;

/** A camera for tests: a real HTTP server that answers by script and remembers every request. */
export interface ScriptedCamera {
  readonly url: string;
  readonly port: number;
  readonly seen: Seen[];
  script: Script;
  count(operation: string): number;
  close(): Promise<void>;
}

/** @param tls Certificate and key in PEM: the camera then speaks https only. */
export async function startCamera(
  script: Script,
  port = 0,
  tls?: { readonly cert: string; readonly key: string },
  host = '127.0.0.1',
): Promise<ScriptedCamera> {
  const sockets = new Set<Socket>();
  const seen: Seen[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const operation = /<(?:[\w-]+:)?Body[^>]*>\s*<(?:[\w-]+:)?(\w+)/.exec(body)?.[1] ?? '';
      const { method = '', url: path = '', headers } = request;
      const one = { method, path, operation, body, headers };
      seen.push(one);
      answer(response, await camera.script(one, camera));
    });
  };
  const server: Server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  server.on('tlsClientError', () => undefined);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const bound = (server.address() as AddressInfo).port;
  const camera: ScriptedCamera = {
    url: `${tls === undefined ? 'http' : 'https'}://${host}:${bound}/onvif/device_service`,
    port: bound,
    seen,
    script,
    count: (operation) => seen.filter((request) => request.operation === operation).length,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return camera;
}

function answer(response: ServerResponse, reply: Reply): void {
  if (response.destroyed) return;
  if ('reset' in reply) {
    response.socket?.resetAndDestroy();
  } else if ('hang' in reply) {
    response.writeHead(200, { 'content-type': 'application/soap+xml' });
    response.flushHeaders();
  } else if ('drip' in reply) {
    response.writeHead(200, { 'content-type': 'application/soap+xml' });
    response.write(reply.drip);
    const timer = setInterval(() => response.write(' '), 10);
    response.on('close', () => clearInterval(timer));
  } else if ('cut' in reply) {
    response.writeHead(200, { 'content-length': String(reply.cut.length + 1000) });
    response.write(reply.cut, () => response.socket?.destroy());
  } else if ('endless' in reply) {
    response.writeHead(200, { 'content-type': 'image/jpeg' });
    const more = () => {
      while (!response.destroyed && response.write(reply.endless)) {
        // As fast as the socket takes it.
      }
    };
    response.on('drain', more);
    more();
  } else {
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/soap+xml', ...reply.headers });
    response.end(reply.body ?? '');
  }
}

export const soap = (body: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>
<env:Envelope xmlns:env="http://www.w3.org/2003/05/soap-envelope" xmlns:tt="http://www.onvif.org/ver10/schema"
  xmlns:tds="http://www.onvif.org/ver10/device/wsdl" xmlns:trt="http://www.onvif.org/ver10/media/wsdl"
  xmlns:tev="http://www.onvif.org/ver10/events/wsdl" xmlns:wsnt="http://docs.oasis-open.org/wsn/b-2"
  xmlns:wsa5="http://www.w3.org/2005/08/addressing" xmlns:tns1="http://www.onvif.org/ver10/topics"
  xmlns:ter="http://www.onvif.org/ver10/error"><env:Body>${body}</env:Body></env:Envelope>`;

export const fault = (code: string, reason = '', status = 400): Reply => ({
  status,
  body: soap(
    `<env:Fault><env:Code><env:Value>env:Sender</env:Value><env:Subcode><env:Value>ter:${code}</env:Value></env:Subcode></env:Code><env:Reason><env:Text xml:lang="en">${reason}</env:Text></env:Reason></env:Fault>`,
  ),
});

/** One notification as cameras write it. */
export function notification(options: {
  topic: string;
  operation?: string;
  source?: Record<string, string>;
  key?: Record<string, string>;
  data?: Record<string, string>;
}): string {
  const items = (name: string, values: Record<string, string> | undefined) =>
    values === undefined
      ? ''
      : `<tt:${name}>${Object.entries(values)
          .map(([k, v]) => `<tt:SimpleItem Name="${k}" Value="${v}"/>`)
          .join('')}</tt:${name}>`;
  const operation = options.operation === undefined ? '' : ` PropertyOperation="${options.operation}"`;
  return `<wsnt:NotificationMessage><wsnt:Topic Dialect="http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet">${options.topic}</wsnt:Topic><wsnt:Message><tt:Message UtcTime="2026-11-27T20:00:00Z"${operation}>${items('Source', options.source)}${items('Key', options.key)}${items('Data', options.data)}</tt:Message></wsnt:Message></wsnt:NotificationMessage>`;
}

export const motion = (on: boolean, operation = 'Changed') =>
  notification({
    topic: 'tns1:RuleEngine/CellMotionDetector/Motion',
    operation,
    source: { VideoSourceConfigurationToken: '000', VideoAnalyticsConfigurationToken: '000', Rule: '000' },
    data: { IsMotion: String(on) },
  });

export interface CameraModel {
  /** Notifications for the next pulls, one text per pull. */
  readonly queue: string[];
  /** How long an empty pull is held. */
  holdMs: number;
  /** Subscriptions that were made and not ended, by number. */
  readonly live: Set<number>;
  /** How many of them it can have. */
  slots: number;
  /** For how long it grants and renews them; it does not end them by itself. */
  grantedMs: number;
  made: number;
  clockOffsetMs: number;
  /** How far what it calls local time is ahead of what it calls UTC; it tells none without. */
  localOffsetMs?: number;
  /** Taken before the ordinary answer. */
  before?: (request: Seen, camera: ScriptedCamera) => Reply | undefined | Promise<Reply | undefined>;
  snapshotPath: string;
  picture: Uint8Array;
}

/** A well-behaved camera; tests make it misbehave through `before`. */
export function cameraModel(change: Partial<CameraModel> = {}): CameraModel & { script: Script } {
  const model: CameraModel = {
    queue: [],
    holdMs: 40,
    live: new Set(),
    made: 0,
    slots: 8,
    grantedMs: 180_000,
    clockOffsetMs: 0,
    snapshotPath: '/picture.jpg',
    picture: tinyJpeg(),
    ...change,
  };
  const script: Script = async (request, camera) =>
    (await model.before?.(request, camera)) ?? (await ordinary(model, request, camera));
  return Object.assign(model, { script });
}

async function ordinary(model: CameraModel, request: Seen, camera: ScriptedCamera): Promise<Reply> {
  const base = `http://127.0.0.1:${camera.port}`;
  const now = new Date(Date.now() + model.clockOffsetMs);
  const stamp = (ms: number) => new Date(now.getTime() + ms).toISOString();
  const index = Number(/Idx=(\d+)/.exec(request.path)?.[1] ?? -1);
  switch (request.operation) {
    case 'GetSystemDateAndTime':
      return { body: soap(dateAndTime(now, model.localOffsetMs)) };
    case 'GetDeviceInformation':
      return {
        body: soap(
          '<tds:GetDeviceInformationResponse><tds:Manufacturer>Example</tds:Manufacturer><tds:Model>007</tds:Model><tds:FirmwareVersion>5.50</tds:FirmwareVersion><tds:SerialNumber>00012345678901234567890</tds:SerialNumber><tds:HardwareId>1</tds:HardwareId></tds:GetDeviceInformationResponse>',
        ),
      };
    case 'GetServices':
      return {
        body: soap(
          `<tds:GetServicesResponse>${service('http://www.onvif.org/ver10/device/wsdl', `${base}/onvif/device_service`)}${service('http://www.onvif.org/ver10/media/wsdl', 'http://10.0.0.9/onvif/media')}${service('http://www.onvif.org/ver10/events/wsdl', 'http://10.0.0.9/onvif/events')}</tds:GetServicesResponse>`,
        ),
      };
    case 'GetProfiles':
      return {
        body: soap(
          '<trt:GetProfilesResponse><trt:Profiles token="main" fixed="true"><tt:Name>Main</tt:Name></trt:Profiles><trt:Profiles token="sub"><tt:Name>Sub</tt:Name></trt:Profiles></trt:GetProfilesResponse>',
        ),
      };
    case 'GetSnapshotUri':
      return {
        body: soap(
          `<trt:GetSnapshotUriResponse><trt:MediaUri><tt:Uri>http://10.0.0.9${model.snapshotPath}</tt:Uri></trt:MediaUri></trt:GetSnapshotUriResponse>`,
        ),
      };
    case 'GetStreamUri':
      return {
        body: soap(
          '<trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>rtsp://u:p@10.0.0.9/live</tt:Uri></trt:MediaUri></trt:GetStreamUriResponse>',
        ),
      };
    case 'CreatePullPointSubscription': {
      if (model.live.size >= model.slots) return fault('MaxPullPointsReached', 'no more pull points', 500);
      model.made += 1;
      model.live.add(model.made);
      return {
        body: soap(
          `<tev:CreatePullPointSubscriptionResponse><tev:SubscriptionReference><wsa5:Address>http://10.0.0.9/onvif/sub?Idx=${model.made}</wsa5:Address></tev:SubscriptionReference><wsnt:CurrentTime>${stamp(0)}</wsnt:CurrentTime><wsnt:TerminationTime>${stamp(model.grantedMs)}</wsnt:TerminationTime></tev:CreatePullPointSubscriptionResponse>`,
        ),
      };
    }
    case 'PullMessages': {
      if (!model.live.has(index)) return fault('ResourceUnknown', 'no such pull point', 500);
      const until = Date.now() + model.holdMs;
      while (model.queue.length === 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 5));
      return {
        body: soap(
          `<tev:PullMessagesResponse><tev:CurrentTime>${stamp(0)}</tev:CurrentTime><tev:TerminationTime>${stamp(model.grantedMs)}</tev:TerminationTime>${model.queue.shift() ?? ''}</tev:PullMessagesResponse>`,
        ),
      };
    }
    case 'Renew':
      return {
        body: soap(
          `<wsnt:RenewResponse><wsnt:TerminationTime>${stamp(model.grantedMs)}</wsnt:TerminationTime><wsnt:CurrentTime>${stamp(0)}</wsnt:CurrentTime></wsnt:RenewResponse>`,
        ),
      };
    case 'Unsubscribe':
      if (!model.live.delete(index)) return fault('ResourceUnknown', 'no such pull point', 500);
      return { body: soap('<wsnt:UnsubscribeResponse/>') };
    case 'SetSynchronizationPoint':
      return fault('ActionNotSupported', 'optional');
    case '':
      if (request.path.startsWith(model.snapshotPath)) {
        return { headers: { 'content-type': 'image/jpeg' }, body: model.picture };
      }
      return { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>not here</html>' };
    default:
      return fault('ActionNotSupported', request.operation);
  }
}

const service = (namespace: string, address: string) =>
  `<tds:Service><tds:Namespace>${namespace}</tds:Namespace><tds:XAddr>${address}</tds:XAddr></tds:Service>`;

const timeOf = (name: string, at: Date) =>
  `<tt:${name}><tt:Time><tt:Hour>${at.getUTCHours()}</tt:Hour><tt:Minute>${at.getUTCMinutes()}</tt:Minute><tt:Second>${at.getUTCSeconds()}</tt:Second></tt:Time><tt:Date><tt:Year>${at.getUTCFullYear()}</tt:Year><tt:Month>${at.getUTCMonth() + 1}</tt:Month><tt:Day>${at.getUTCDate()}</tt:Day></tt:Date></tt:${name}>`;

function dateAndTime(at: Date, localOffsetMs: number | undefined): string {
  const local = localOffsetMs === undefined ? '' : timeOf('LocalDateTime', new Date(at.getTime() + localOffsetMs));
  return `<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:DateTimeType>NTP</tt:DateTimeType>${timeOf('UTCDateTime', at)}${local}</tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>`;
}

/** Checks a UsernameToken the way a camera does: own digest, own clock. Undefined when it is good. */
export function checkToken(body: string, user: string, password: string, now: number): string | undefined {
  const text = (name: string) => new RegExp(`<(?:\\w+:)?${name}(?:\\s[^>]*)?>([^<]*)<`).exec(body)?.[1];
  const [name, digest, nonce, created] = ['Username', 'Password', 'Nonce', 'Created'].map(text);
  if (name === undefined || digest === undefined || nonce === undefined || created === undefined) return 'no token';
  const plain = name.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
  if (plain !== user) return 'wrong user';
  if (Math.abs(Date.parse(created) - now) > 5000) return 'wrong time';
  const right = createHash('sha1')
    .update(Buffer.concat([Buffer.from(nonce, 'base64'), Buffer.from(created), Buffer.from(password, 'utf8')]))
    .digest('base64');
  return digest === right ? undefined : 'wrong password';
}

/** Checks an HTTP digest answer with MD5 and qop=auth by the book. Undefined when it is good. */
export function checkDigest(
  request: Seen,
  expected: { user: string; password: string; realm: string; nonce: string },
): string | undefined {
  const header = String(request.headers.authorization ?? '');
  if (!header.startsWith('Digest ')) return 'no digest';
  const part = (name: string) => new RegExp(`[ ,]${name}="?([^",]*)"?`).exec(header)?.[1] ?? '';
  const md5 = (text: string) => createHash('md5').update(text, 'utf8').digest('hex');
  if (part('nonce') !== expected.nonce) return 'old nonce';
  const ha1 = md5(`${expected.user}:${expected.realm}:${expected.password}`);
  const ha2 = md5(`${request.method}:${request.path}`);
  const right = md5(`${ha1}:${expected.nonce}:${part('nc')}:${part('cnonce')}:auth:${ha2}`);
  return part('response') === right ? undefined : 'wrong password';
}

/** The smallest thing that has all marks of a whole JPEG: 640x480, one scan. */
export function tinyJpeg(): Uint8Array {
  const frame = [0xff, 0xc0, 0, 11, 8, 1, 0xe0, 2, 0x80, 1, 1, 0x11, 0];
  const scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0x12, 0x34, 0x56];
  return Uint8Array.from([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, ...frame, ...scan, 0xff, 0xd9]);
}
