// All words that the map shows, in one place, so that they can be translated.

export const text = {
  product: "hazardd",
  tagline: "What is dangerous right now, where, and how bad.",
  login: {
    title: "Log in",
    user: "User name",
    password: "Password",
    submit: "Log in",
    busy: "Logging in …",
    denied: "User name or password are not right.",
    limited: (seconds: number) => `Too many failed logins. Try again in ${seconds} s.`,
    lost: "The server does not answer. Check the connection, then try again.",
    ended: "Your login has ended. Log in again to go on where you were.",
    memory: "Your login lives in this tab only, and ends when you close or reload it.",
  },
};
