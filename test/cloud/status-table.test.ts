import { describe, expect, it } from 'vitest';
import { judge } from '../../src/cloud/delivery/outcome.ts';
import { rowFor, statusTable } from '../../src/cloud/delivery/status-table.ts';
import { uploadRowFor, uploadTable } from '../../src/cloud/delivery/upload-table.ts';

type Outcome = Parameters<typeof rowFor>[0];
const cases: [name: string, outcome: Outcome, does: string, trouble?: string][] = [
  ['accepted, but for another event', { status: 200, body: 'json', echo: 'other' }, 'again'],
  ['accepted', { status: 200, body: 'json', echo: 'same' }, 'accept'],
  ['accepted', { status: 202, body: 'empty' }, 'accept'],
  ['accepted', { status: 204, body: 'empty' }, 'accept'],
  ['success with a page: intercepted line', { status: 200, body: 'other' }, 'rest', 'intercepted'],
  ['redirect: never followed', { status: 302, body: 'other' }, 'rest', 'intercepted'],
  ['redirect: never followed', { status: 308, body: 'empty' }, 'rest', 'intercepted'],
  ['proxy or portal wants a login', { status: 407, body: 'other' }, 'rest', 'intercepted'],
  ['proxy or portal wants a login', { status: 511, body: 'other' }, 'rest', 'intercepted'],
  ['known under another id', { status: 409, body: 'json', echo: 'other' }, 'again'],
  ['known already', { status: 409, body: 'json', echo: 'same' }, 'accept'],
  ['another refusal', { status: 409, body: 'empty' }, 'again'],
  ['another refusal', { status: 409, body: 'json' }, 'again'],
  ['another refusal', { status: 409, body: 'other' }, 'again'],
  ['refused as invalid', { status: 400, body: 'json' }, 'again'],
  ['refused as invalid', { status: 422, body: 'json' }, 'again'],
  ['too large for the cloud', { status: 413, body: 'json' }, 'again'],
  ['refused with a fresh token', { status: 401, body: 'json' }, 'rest', 'unauthorized'],
  ['not permitted, or the address is wrong', { status: 403, body: 'json' }, 'rest', 'forbidden'],
  ['not permitted, or the address is wrong', { status: 404, body: 'json' }, 'rest', 'forbidden'],
  ['not permitted, or the address is wrong', { status: 501, body: 'json' }, 'rest', 'forbidden'],
  ['our request is malformed', { status: 415, body: 'json' }, 'rest', 'forbidden'],
  ['wrong connection', { status: 421, body: 'empty' }, 'reconnect'],
  ['too many requests', { status: 429, body: 'json', retryAfter: true }, 'rest', 'busy'],
  ['asks for a pause', { status: 503, body: 'empty', retryAfter: true }, 'rest', 'busy'],
  ['not now', { status: 503, body: 'empty', retryAfter: false }, 'rest', 'busy'],
  ['not now', { status: 408, body: 'empty' }, 'rest', 'busy'],
  ['not now', { status: 425, body: 'empty' }, 'rest', 'busy'],
  ['not now', { status: 504, body: 'other' }, 'rest', 'busy'],
  ['server error', { status: 500, body: 'json' }, 'rest', 'busy'],
  ['server error', { status: 520, body: 'other' }, 'rest', 'busy'],
  ['another refusal', { status: 418, body: 'json' }, 'again'],
  ['certificate not valid at this time', { failure: 'tls_time' }, 'rest', 'clock'],
  ['somebody else answers', { failure: 'tls_untrusted' }, 'rest', 'intercepted'],
  ['somebody else answers', { failure: 'garbled' }, 'rest', 'intercepted'],
  ['line down', { failure: 'dns' }, 'rest', 'unreachable'],
  ['line down', { failure: 'refused' }, 'rest', 'unreachable'],
  ['line down', { failure: 'timeout' }, 'rest', 'unreachable'],
  ['line down', { failure: 'reset' }, 'rest', 'unreachable'],
  ['answer too large', { failure: 'too_large' }, 'rest', 'intercepted'],
  ['token server away', { failure: 'token_unreachable' }, 'rest', 'unreachable'],
  ['token server refuses', { failure: 'token_refused' }, 'rest', 'unauthorized'],
  ['address not allowed', { failure: 'forbidden_address' }, 'rest', 'forbidden'],
  ['anything else', { status: 101 }, 'rest', 'unreachable'],
];

describe('the status table', () => {
  it.each(cases)('%s: %j', (name, outcome, does, trouble) => {
    const row = rowFor(outcome);
    expect(row.name).toBe(name);
    expect(row.action.do).toBe(does);
    if (row.action.do === 'rest') expect(row.action.trouble).toBe(trouble);
  });

  it('has a case here for each of its rows', () => {
    expect(new Set(cases.map(([name]) => name))).toEqual(new Set(statusTable.map((row) => row.name)));
  });

  it('never leaves a state without a timed exit, and drops nothing', () => {
    for (const { action } of statusTable) {
      if (action.do === 'rest')
        expect(action.fromMs > 0 && action.toMs >= action.fromMs && action.toMs <= 3_600_000).toBe(true);
      else expect(['accept', 'again', 'reconnect']).toContain(action.do);
    }
  });
});

describe('judging an answer', () => {
  const answer = (status: number, text: string, headers: Record<string, string> = {}) => {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      parsed = undefined;
    }
    return {
      kind: 'answer' as const,
      status,
      headers,
      body: new TextEncoder().encode(text),
      text,
      json: parsed,
      value: undefined,
      sentMono: 0,
      headMono: 0,
    };
  };
  it.each([
    ['an empty 200', 200, '', {}, 'accepted'],
    ['JSON without a type', 200, '{}', {}, 'accepted'],
    [
      'JSON that claims to be a page',
      200,
      '{}',
      { 'content-type': 'text/html' },
      'success with a page: intercepted line',
    ],
    ['a page', 200, '<html>', { 'content-type': 'text/html' }, 'success with a page: intercepted line'],
    ['broken JSON', 200, '{"a":', { 'content-type': 'application/json' }, 'success with a page: intercepted line'],
    ['our id in capitals', 200, '{"event_id":"ABC"}', {}, 'accepted'],
    ['our id in a wrapper', 200, '{"data":{"event_id":"abc"}}', {}, 'accepted'],
    ['another id', 200, '{"event_id":"xyz"}', {}, 'accepted, but for another event'],
    [
      'a problem type',
      400,
      '{"error":"bad_request"}',
      { 'content-type': 'application/problem+json' },
      'refused as invalid',
    ],
  ])('%s', (_what, status, text, headers, name) => {
    expect(judge(answer(status, text, headers), 'abc', 0).row.name).toBe(name);
  });

  it('tells the reason without control characters and without quoting a page', () => {
    const said = judge(answer(400, '{"error":"bad_request","message":"event_id: is\\u0007 required"}'), 'abc', 0);
    expect(said.reason).toBe('400 refused as invalid: bad_request: event_id: is  required');
    expect(judge(answer(400, '<b>secret</b>'), 'abc', 0).reason).not.toContain('secret');
  });

  it.each(['Bearer abc-123', 'bearer\\u0000 abc-123', 'eyJhbGci.eyJzdWIi.abc-123', 'eyJhbGci.abc-123'])(
    'tells no token that the server echoes: %s',
    (token) => {
      const { reason } = judge(answer(401, `{"message":"you sent ${token}"}`), 'abc', 0);
      expect(reason).toContain('[secret]');
      expect(reason).not.toContain('abc-123');
    },
  );
});

describe('the upload table', () => {
  const uploads: [string, Parameters<typeof uploadRowFor>[0], string][] = [
    ['success with a page: intercepted line', { status: 200, answer: 'page' }, 'later'],
    ['success nobody can read', { status: 200, answer: 'garbled' }, 'later'],
    ['the storage has something else', { status: 200, answer: 'other' }, 'ask'],
    ['uploaded', { status: 200, answer: 'stored' }, 'uploaded'],
    ['uploaded', { status: 201 }, 'uploaded'],
    ['incomplete', { status: 308, resumable: true }, 'resume'],
    ['redirect: never followed', { status: 307 }, 'ask'],
    ['redirect: never followed', { status: 308, resumable: false }, 'ask'],
    ['not now', { status: 429 }, 'later'],
    ['too large', { status: 413 }, 'failed'],
    ['wrong kind of file', { status: 415 }, 'failed'],
    ['address expired or unknown', { status: 403 }, 'ask'],
    ['address expired or unknown', { status: 404 }, 'ask'],
    ['server error', { status: 503 }, 'later'],
    ['address not allowed', { failure: 'forbidden_address' }, 'ask'],
    ['line down', { failure: 'reset' }, 'later'],
  ];
  it.each(uploads)('%s: %j', (name, outcome, action) => {
    expect(uploadRowFor(outcome)).toMatchObject({ name, action });
  });
  it('has a case here for each of its rows', () => {
    expect(new Set(uploads.map(([name]) => name))).toEqual(new Set(uploadTable.map((row) => row.name)));
  });
});
