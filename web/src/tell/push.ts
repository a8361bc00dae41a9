// Web Push of this browser: subscribed to by a button, never before.
import { worker } from "../worker";

/** Whether this browser can be pushed to here; it needs https, or this machine. */
export const canPush = (): boolean => "serviceWorker" in navigator && "PushManager" in globalThis && "Notification" in globalThis;

/** The subscription of this browser; undefined: there is none. */
export async function pushed(): Promise<PushSubscription | undefined> {
  if (!canPush()) return undefined;
  return (await (await navigator.serviceWorker.getRegistration("./"))?.pushManager.getSubscription()) ?? undefined;
}

export class RefusedError extends Error {}

/**
 * Subscribes this browser with the server's key, and returns the data that the server needs. The
 * browser asks the reader for permission.
 */
export async function push(publicKey: string): Promise<string> {
  if ((await Notification.requestPermission()) !== "granted") throw new RefusedError();
  const registration = await worker();
  const key = bytesOf(publicKey);
  let subscription = await registration.pushManager.getSubscription();
  const had = subscription?.options.applicationServerKey;
  if (subscription && had && !same(new Uint8Array(had), key)) { // from an earlier server, or one that has lost its key
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  return JSON.stringify(subscription.toJSON());
}

/** Whether an address is this browser's. */
export const isOf = (subscription: PushSubscription | undefined, to: string): boolean => {
  try {
    return subscription !== undefined && (JSON.parse(to) as { endpoint?: string }).endpoint === subscription.endpoint;
  } catch {
    return false; // hidden
  }
};

const same = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((x, i) => x === b[i]);

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64url.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}
