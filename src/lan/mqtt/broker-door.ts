import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { isLoopback, withoutMapping } from '#lib/host.ts';
import { frameGuard } from './frame-guard.ts';

/** Why a connection is cut before it is anybody's. */
export type DoorReason = 'too_many_silent' | 'too_many_of_address';

export interface Door {
  /** A new connection, in whose place another may be cut. */
  take(socket: Socket): void;
  /** It has said who it is. */
  known(conn: Duplex): void;
}

/** Connections that have not said who they are; the one that has waited longest gives way. */
export const silentCap = 64;
const silentOfAddress = 16;
/** Of all; over loopback everybody has the same address. */
const ofAddress = 64;

/** Nobody who only opens connections keeps the others out. */
export function createDoor(refused: (reason: DoorReason) => void): Door {
  const standing = new Map<string, { readonly socket: Socket; readonly address: string; silent: boolean }>();

  function cut(socket: Socket | undefined, reason: DoorReason): void {
    refused(reason);
    socket?.destroy();
  }

  return {
    take(socket) {
      const address = addressOf(socket);
      const key = keyOf(socket);
      standing.set(key, { socket, address, silent: true });
      socket.once('close', () => standing.delete(key));
      const all = [...standing.values()];
      const silent = all.filter((one) => one.silent);
      if (silent.length > silentCap) return cut(silent[0]?.socket, 'too_many_silent');
      if (isLoopback(address)) return;
      if (all.filter((one) => one.address === address).length > ofAddress) return cut(socket, 'too_many_of_address');
      const same = silent.filter((one) => one.address === address);
      if (same.length > silentOfAddress) cut(same[0]?.socket, 'too_many_silent');
    },
    known(conn) {
      const one = 'remotePort' in conn ? standing.get(keyOf(conn as Socket)) : undefined;
      if (one !== undefined) one.silent = false;
    },
  };
}

const addressOf = ({ remoteAddress = '' }: Socket) => withoutMapping(remoteAddress);
/** TLS puts another socket in front of the same connection. */
const keyOf = (socket: Socket) => `${addressOf(socket)} ${socket.remotePort}`;

const packetBytes = 256 * 1024;
/** So much of what one client sends is taken at a time, so that the others have their turn between. */
const turnBytes = 16 * 1024;

/** Sizes are checked on the way from the socket to aedes' parser, which has no cap of its own. */
export function guard(socket: Socket, refused: (reason: 'packet_too_large') => void): void {
  const endedIn = frameGuard(packetBytes);
  const read = socket.read.bind(socket);
  socket.read = (size?: number) => {
    if (size === 0) return read(0);
    const pieces: Buffer[] = [];
    for (;;) {
      const waiting = Math.min(socket.readableLength, turnBytes);
      const piece: Buffer | null = waiting === 0 ? read() : read(waiting);
      if (piece === null) break;
      const ended = endedIn(piece);
      if (ended === undefined) {
        refused('packet_too_large');
        socket.destroy();
        return null;
      }
      pieces.push(piece);
      // aedes asks again once it has done what ended in here, and only then.
      if (ended > 0) break;
    }
    return pieces.length === 0 ? null : Buffer.concat(pieces);
  };
}
