import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { errorCodes, SitewardError } from '#errors.ts';
import type { Redactor } from './secret.ts';

export const logLevels = ['error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof logLevels)[number];

/** A line as it left: nothing secret is in it. */
export interface CleanLine {
  /** JSON, but where a line could not be read again: then it is text. */
  readonly text: string;
  readonly level: string;
  readonly part: string | undefined;
}

/**
 * The log: one JSON object per line on stdout, written synchronously, so that no line is lost when the process
 * is killed. Every line is cleaned as a whole before it leaves: known secrets by value wherever they stand, and
 * members whose name says that they hold one.
 */
export function createLog(options: {
  level: LogLevel;
  redactor: Redactor;
  destination?: DestinationStream;
  onLine?: (line: CleanLine) => void;
  /** A logger made of another one has a level of its own. */
  onChild?: (child: Logger) => void;
}): Logger {
  const destination = options.destination ?? pino.destination({ fd: 1, sync: true });
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorFacts, error: errorFacts },
      depthLimit: 6,
      edgeLimit: 100,
      ...(options.onChild !== undefined && { onChild: options.onChild }),
    },
    {
      write(line) {
        const clean = cleanLine(line, options.redactor);
        destination.write(`${clean.text}\n`);
        options.onLine?.(clean);
      },
    },
  );
}

/** What a log line says of an error: code, message, facts and up to five causes; a stack only for programming errors. */
function errorFacts(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  return {
    type: error.name,
    ...('code' in error && isErrorCode(error.code) && { [errorCodeKey]: error.code }),
    message: error.message,
    ...(error instanceof SitewardError ? { facts: error.facts } : { stack: error.stack }),
    ...(error.cause !== undefined && depth < 5 && { cause: errorFacts(error.cause, depth + 1) }),
  };
}

/** Not `code`: that is what a person types at a keypad, and is blanked. */
const errorCodeKey = 'error_code';

/** Ours, or the system's: ECONNREFUSED, ERR_INVALID_ARG. */
const isErrorCode = (code: unknown): boolean =>
  typeof code === 'string' && (Object.hasOwn(errorCodes, code) || /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(code));

function cleanLine(line: string, redactor: Redactor): CleanLine {
  try {
    const members = clean(JSON.parse(line), redactor) as Readonly<Record<string, unknown>>;
    const { level, part } = members;
    return {
      text: JSON.stringify(members),
      level: String(level),
      part: typeof part === 'string' ? part : undefined,
    };
  } catch {
    return { text: redactor.redact(line.trimEnd()), level: 'error', part: undefined };
  }
}

const textCap = 8192;

function clean(value: unknown, redactor: Redactor): unknown {
  if (typeof value === 'string') return redactor.redact(value).slice(0, textCap);
  if (Array.isArray(value)) return value.map((item) => clean(item, redactor));
  if (typeof value !== 'object' || value === null) return value;
  const result: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    result[redactor.redact(key)] = namesSecret(key) && member !== null ? '[secret]' : clean(member, redactor);
  }
  return result;
}

const secretWords = new Set(['code', 'codes', 'pin', 'pins', 'password', 'passwd', 'token', 'assertion', 'secret']);

/** Whether a member's name has a secret's word in it: `disarm_code`, `clientSecret`; not `status_code` or `mapping`. */
export function namesSecret(key: string): boolean {
  const words = key.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase());
  return words.some(
    (word, index) => secretWords.has(word) && !(word === 'code' && harmless.has(words[index - 1] ?? '')),
  );
}

const harmless = new Set(['status', 'exit', 'error', 'reply']);
