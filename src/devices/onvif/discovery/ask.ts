import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { sleep, unlessAborted } from '#lib/wait.ts';
import { type Answer, type Probe, probes, readAnswer } from './messages.ts';
import type { Outlet } from './outlets.ts';

export interface AskOptions {
  /** Everybody is asked through these. */
  readonly outlets: readonly Outlet[];
  /** IP addresses that are asked one by one. */
  readonly addresses: readonly string[];
  /** How long answers are waited for, from the first question on. */
  readonly forMs: number;
  readonly heard: (answer: Answer, sender: string) => void;
  readonly signal: AbortSignal;
  readonly port?: number;
}

export interface Asked {
  /** Ways out that did not work, in words. */
  readonly notes: readonly string[];
  /** Datagrams beyond the bounds, not looked at. */
  readonly left: number;
}

const group4 = '239.255.255.250';
const group6 = 'ff02::c';
const wsDiscoveryPort = 3702;
/** A host that many simulated devices share answers each question for each of them. */
const maxPerSender = 512;
const maxDatagrams = 20_000;
const maxBytes = 64 * 1024 * 1024;

/** Many cameras answer within the same moment; the system may grant less. */
const receiveBytes = 1024 * 1024;

interface Line {
  readonly socket: Socket;
  readonly name: string;
  readonly to: readonly string[];
}

/**
 * Asks by WS-Discovery over UDP: each question goes out twice, since datagrams get lost, and scattered in time, so that
 * small cameras and the answers of many do not collide. Every interface has a socket of its own: the routing table would
 * send a multicast through one of them only, and the camera network is often the other. Resolves when the time is up or
 * the signal aborts; throws nothing: an interface that cannot send is told in the notes.
 */
export async function ask(options: AskOptions): Promise<Asked> {
  const { outlets, addresses, forMs, signal, heard, port = wsDiscoveryPort } = options;
  const questions = probes();
  const notes = new Map<string, string>();
  const listener = listen(questions, heard);
  const note = (name: string, error: Error) => {
    const code = 'code' in error ? String(error.code) : error.message;
    if (!notes.has(name)) notes.set(name, `${name}: nobody can be asked there (${code})`);
  };
  const lines: Line[] = [];
  const open = async (name: string, family: 'IPv4' | 'IPv6', to: readonly string[], outlet?: Outlet) => {
    try {
      lines.push({ name, to, socket: await openSocket(family, outlet, listener.take, (error) => note(name, error)) });
    } catch (error) {
      note(name, error as Error);
    }
  };
  const end = performance.now() + forMs;
  try {
    for (const outlet of outlets) {
      const { name, family } = outlet;
      await open(`${name} (${family})`, family, [family === 'IPv4' ? group4 : `${group6}%${name}`], outlet);
    }
    const six = addresses.filter((address) => isIPv6(plain(address)));
    const four = addresses.filter((address) => !six.includes(address));
    if (four.length > 0) await open('IPv4', 'IPv4', four);
    if (six.length > 0) await open('IPv6', 'IPv6', six);
    if (lines.length === 0) return { notes: [...notes.values()], left: 0 };
    await sendAll({ lines, questions, port, forMs, signal, note: addresses.length > 0 ? () => {} : note });
    // Those asked last have time to answer too.
    await sleep(Math.max(end - performance.now(), Math.min(forMs, 1500) / 2), signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const { socket } of lines) socket.close();
  }
  return { notes: [...notes.values()], left: listener.left };
}

const plain = (address: string) => address.replace(/%.*$/, '');

function openSocket(
  family: 'IPv4' | 'IPv6',
  outlet: Outlet | undefined,
  take: (bytes: Buffer, from: RemoteInfo) => void,
  failed: (error: Error) => void,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const type = family === 'IPv4' ? 'udp4' : 'udp6';
    const socket = createSocket({ type, ipv6Only: type === 'udp6', recvBufferSize: receiveBytes });
    socket.once('error', (error) => {
      reject(error);
      socket.close();
    });
    const address = family === 'IPv4' ? (outlet?.address ?? '0.0.0.0') : '::';
    socket.bind({ address, port: 0 }, () => {
      try {
        if (outlet !== undefined) socket.setMulticastInterface(outlet.address);
      } catch (error) {
        reject(error);
        socket.close();
        return;
      }
      socket.removeAllListeners('error');
      // A refused datagram of one address must not end the asking of the others.
      socket.on('error', failed);
      socket.on('message', take);
      resolve(socket);
    });
  });
}

async function sendAll(options: {
  lines: readonly Line[];
  questions: readonly Probe[];
  port: number;
  forMs: number;
  signal: AbortSignal;
  note: (name: string, error: Error) => void;
}): Promise<void> {
  const { lines, questions, port, forMs, signal, note } = options;
  const scatter = (least: number, most: number) => sleep(Math.min(forMs / 20, random(least, most)), signal);
  let sent = 0;
  for (let round = 0; round < 2; round += 1) {
    // Between 50 and 250 ms is what the standard (SOAP over UDP) says for the first repetition; a little more for slow ones.
    if (round > 0) await sleep(Math.min(forMs / 4, random(150, 400)), signal);
    for (const { bytes } of questions) {
      for (const { socket, name, to } of lines) {
        for (const address of to) {
          const gone = send(socket, bytes, port, address, (error) => note(name, error));
          sent += 1;
          // Many addresses at once would overflow our queue, that of the interface, and that of the neighbours' addresses.
          if (sent % 64 !== 0) continue;
          await unlessAborted(gone, signal);
          await sleep(5, signal);
        }
      }
      await scatter(5, 30);
    }
  }
}

/** Resolves when the system has taken it, or not. */
function send(socket: Socket, bytes: Buffer, port: number, to: string, failed: (error: Error) => void): Promise<void> {
  return new Promise((resolve) => {
    socket.send(bytes, port, to, (error) => {
      if (error !== null) failed(error);
      resolve();
    });
  });
}

const random = (least: number, most: number) => least + Math.random() * (most - least);

/** Judges what comes in; counts what is beyond the bounds. */
function listen(questions: readonly Probe[], heard: AskOptions['heard']) {
  const ids = new Set(questions.map(({ id }) => id));
  const perSender = new Map<string, number>();
  let datagrams = 0;
  let bytes = 0;
  let left = 0;
  return {
    get left() {
      return left;
    },
    take(message: Buffer, from: RemoteInfo) {
      datagrams += 1;
      bytes += message.length;
      const count = (perSender.get(from.address) ?? 0) + 1;
      if (datagrams > maxDatagrams || bytes > maxBytes || count > maxPerSender) {
        left += 1;
        return;
      }
      perSender.set(from.address, count);
      const answer = readAnswer(message);
      // Somebody else's question, or one of an earlier run.
      if (answer === undefined || (answer.relatesTo !== undefined && !ids.has(answer.relatesTo))) return;
      heard(answer, from.address);
    },
  };
}
