import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import { isLoopback } from '#lib/host.ts';
import { addressOf } from './network-address.ts';

export type DoorReason = 'too_many' | 'too_many_of_address';

/** Connections of all clients, those that have said nothing yet among them. */
export const maxConnections = 128;
/** A browser opens 6. Over loopback everybody has the same address, and whoever is there is no stranger. */
export const maxOfAddress = 16;
/** Cut ones are still counted by Node for a moment. */
const beingClosed = 16;

export interface Door {
  /** Before anything of a connection is read. */
  watch(server: Server): void;
  size(): number;
  /** Cuts every connection, those that HTTP does not know yet as well. */
  cut(): void;
}

interface Client {
  readonly socket: Socket;
  readonly address: string;
  readonly asked?: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };
}

/**
 * Bounds how many are in at a time. When all places are taken, whoever has asked nothing for longest gives his: many
 * addresses that each hold connections open shut nobody out. Who is being answered stays.
 */
export function createDoor(refused: (reason: DoorReason) => void): Door {
  /** By both ends of the connection, who asked last at the end. Bounded by `maxConnections`. */
  const open = new Map<string, Client>();

  function take(socket: Socket): void {
    const address = addressOf(socket);
    const ofAddress = [...open.values()].filter((one) => one.address === address).length;
    if (ofAddress >= maxOfAddress && !isLoopback(address)) sendAway(socket, 'too_many_of_address');
    else if (open.size >= maxConnections && !makeRoom()) sendAway(socket, 'too_many');
    else {
      const name = nameOf(socket);
      open.set(name, { socket, address });
      socket.once('close', () => forget(name, socket));
    }
  }

  function makeRoom(): boolean {
    for (const [name, { socket, asked }] of open) {
      // What has not come in whole may never.
      if (asked?.incoming.complete === true && !asked.outgoing.writableFinished) continue;
      open.delete(name);
      sendAway(socket, 'too_many');
      return true;
    }
    return false;
  }

  function sendAway(socket: Socket, reason: DoorReason): void {
    refused(reason);
    socket.destroy();
  }

  function forget(name: string, socket: Socket): void {
    if (open.get(name)?.socket === socket) open.delete(name);
  }

  function heard(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const name = nameOf(incoming.socket);
    const client = open.get(name);
    if (client === undefined) return;
    open.delete(name);
    open.set(name, { ...client, asked: { incoming, outgoing } });
  }

  return {
    watch(server) {
      server.maxConnections = maxConnections + beingClosed;
      server.on('drop', () => refused('too_many'));
      server.prependListener('connection', take);
      server.on('request', heard);
    },
    size: () => open.size,
    cut() {
      for (const { socket } of open.values()) socket.destroy();
    },
  };
}

/** The same for a connection and what is spoken over it. */
const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
