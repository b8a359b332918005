import pino from 'pino';
import {
  createManagement,
  givenToken,
  type InterfaceChange,
  interfaceWatch,
  type Management,
} from '#cloud/client/index.ts';
import { defaultDialect } from '#cloud/contract/index.ts';
import { systemClock } from '#lib/clock.ts';
import type { Transport, WireAnswer, WireFailure, WireRequest } from '#lib/contract/client.ts';
import { Secret } from '#lib/secret.ts';

export type Scripted = {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Record<string, string>;
};

export const answer = ({ status, body, text, headers = {} }: Scripted): WireAnswer => ({
  kind: 'answer',
  status,
  headers,
  body: Buffer.from(text ?? (body === undefined ? '' : JSON.stringify(body))),
  sentMono: 0,
  headMono: 0,
});

export const failure = (kind: WireFailure['failure']): WireFailure => ({
  kind: 'failure',
  failure: kind,
  message: kind,
});

const given = () => givenToken(new Secret('token-for-tests'), 'the token');

export interface Rig {
  readonly manage: Management;
  readonly sent: WireRequest[];
  readonly changes: InterfaceChange[];
}

/** The client over a transport that answers as told; waits between tries are 1 ms. */
export function rig(
  transport: (request: WireRequest, count: number) => WireAnswer | WireFailure,
  more: Partial<Parameters<typeof createManagement>[0]> = {},
): Rig {
  const sent: WireRequest[] = [];
  const changes: InterfaceChange[] = [];
  const scripted: Transport = async (request) => {
    sent.push(request);
    return transport(request, sent.length);
  };
  const user = given();
  const manage = createManagement({
    transport: scripted,
    sources: { partner: given(), event: given(), api_key: given(), user },
    watch: interfaceWatch({ onChange: (change) => changes.push(change) }),
    clock: systemClock(),
    log: pino({ level: 'silent' }),
    dialect: defaultDialect(),
    retry: { tries: 3, baseMs: 1, capMs: 1 },
    rate: { perSecond: 1e6, burst: 1e6 },
    ...more,
  });
  return { manage, sent, changes };
}
