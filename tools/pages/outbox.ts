import {
  type Action,
  type StatusRow,
  statusHelp,
  statusTable,
  type UploadAction,
  uploadTable,
} from '#cloud/delivery/index.ts';
import { pageOf } from './template.ts';

/** `docs/outbox.md`: the status tables put into the hand-written template. */
export function outboxPage(): string {
  return pageOf('outbox', { statuses: statuses(), help: help(), uploads: uploads() });
}

function statuses(): string {
  const rows = statusTable.map(({ name, when, action }) => `| ${answers(when)} | ${name} | ${doing(action)} |`);
  return ['| answer | is | then |', '|---|---|---|', ...rows].join('\n');
}

function help(): string {
  const rows = Object.entries(statusHelp).map(([name, { means, remedy }]) => `| ${name} | ${means} | ${remedy} |`);
  return ['| row | means | to do |', '|---|---|---|', ...rows].join('\n');
}

function uploads(): string {
  const words: Readonly<Record<UploadAction, string>> = {
    uploaded: 'done',
    ask: 'asks for another address',
    later: 'the same address later',
    resume: 'goes on where the server stopped',
    failed: 'given up, with the reason',
  };
  const rows = uploadTable.map(({ name, when, action }) => `| ${answers(when)} | ${name} | ${words[action]} |`);
  return ['| answer to an upload | is | then |', '|---|---|---|', ...rows].join('\n');
}

interface When extends Pick<StatusRow['when'], 'status' | 'body' | 'echo' | 'retryAfter' | 'failure'> {
  readonly html?: true;
  readonly resumable?: true;
}

function answers({ status, body, echo, retryAfter, failure, html, resumable }: When): string {
  const parts = [
    ...(status ?? []).map((range) => (typeof range === 'number' ? String(range) : `${range[0]} to ${range[1]}`)),
    ...(failure ?? []).map((kind) => `\`${kind}\``),
  ];
  const conditions = [
    ...(body === undefined ? [] : [`body ${body.join(' or ')}`]),
    ...(html === undefined ? [] : ['a page of HTML']),
    ...(resumable === undefined ? [] : ['with `upload_resume`']),
    ...(echo === 'other' ? ['names another event id'] : []),
    ...(retryAfter === true ? ['with `Retry-After`'] : []),
  ];
  return [parts.length === 0 ? 'anything else' : parts.join(', '), ...conditions].join(', ');
}

function doing(action: Action): string {
  switch (action.do) {
    case 'accept':
      return 'delivered';
    case 'again':
      return `once more after ${span(action.waitMs)}, then parked; others go on`;
    case 'reconnect':
      return 'once more at once on a new connection, then as a busy server';
    case 'rest': {
      const until = action.endsWithLink ? ', or the line' : '';
      const blame = action.blamed === 'parks' ? '; an event that alone fails while others pass is parked' : '';
      return `\`${action.trouble}\`: all wait ${span(action.fromMs)} to ${span(action.toMs)}${until}${blame}`;
    }
  }
}

const span = (ms: number): string => (ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1000} s`);
