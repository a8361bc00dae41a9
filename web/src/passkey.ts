// Passkeys (Web Authentication): the two things that a browser does with them.
import type { Api } from "./api";

/** Whether this browser has passkeys on this page. */
export const hasPasskeys = (): boolean => typeof PublicKeyCredential !== "undefined" && "parseRequestOptionsFromJSON" in PublicKeyCredential;

/** The answer of one of the reader's passkeys, as JSON: for `otp`, or for a login. Throws if there is none. */
export async function answerOfPasskey(api: Api): Promise<string> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON((await api.passkeyOptions()) as unknown as PublicKeyCredentialRequestOptionsJSON);
  return JSON.stringify(((await navigator.credentials.get({ publicKey })) as PublicKeyCredential).toJSON());
}

/** Makes a passkey for the options of POST /account/factors. */
export async function makePasskey(options: unknown): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON);
  return ((await navigator.credentials.create({ publicKey })) as PublicKeyCredential).toJSON();
}
