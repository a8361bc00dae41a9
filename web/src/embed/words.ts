// All words of the widget, by language. Only English was checked by a speaker; the others say so in `unchecked`.
export interface Words {
  readonly unchecked?: true;
  readonly title: string;
  readonly levels: Readonly<Record<string, string>>;
  readonly exercise: string;
  /** An end that is sure, and one that is not known. */
  readonly until: (time: string) => string;
  readonly since: (time: string) => string;
  readonly read: (time: string) => string;
  readonly loading: string;
  readonly none: string;
  readonly unwatched: string;
  readonly partly: string;
  readonly lost: (time: string) => string;
  readonly never: string;
  readonly map: string;
}

const levels = (WARNING: string, WATCH: string, ADVISORY: string, INFORMATION: string, TERMINATION: string) => ({ WARNING, WATCH, ADVISORY, INFORMATION, TERMINATION });

export const words: Readonly<Record<string, Words>> = {
  en: {
    title: "Active hazards",
    levels: levels("Warning", "Watch", "Advisory", "Information", "Termination"),
    exercise: "EXERCISE",
    until: (t) => `until ${t}`,
    since: (t) => `since ${t}`,
    read: (t) => `As of ${t}`,
    loading: "Loading …",
    none: "No active hazards are reported here.",
    unwatched: "No hazards are known here, but no official warnings are read for this area: that does not mean that it is safe.",
    partly: "Some sources are late: something may be missing.",
    lost: (t) => `No connection since ${t}. What you see may be out of date.`,
    never: "No connection. Nothing is known now: that does not mean that it is safe.",
    map: "Open the map",
  },
  es: {
    unchecked: true,
    title: "Peligros activos",
    levels: levels("Alerta", "Vigilancia", "Aviso", "Información", "Fin"),
    exercise: "SIMULACRO",
    until: (t) => `hasta ${t}`,
    since: (t) => `desde ${t}`,
    read: (t) => `Datos de ${t}`,
    loading: "Cargando …",
    none: "No se informa de peligros activos aquí.",
    unwatched: "No se conocen peligros aquí, pero no se leen avisos oficiales de esta zona: eso no significa que sea segura.",
    partly: "Algunas fuentes están retrasadas: puede faltar algo.",
    lost: (t) => `Sin conexión desde ${t}. Lo que ve puede estar desactualizado.`,
    never: "Sin conexión. No se sabe nada ahora: eso no significa que sea seguro.",
    map: "Abrir el mapa",
  },
  fr: {
    unchecked: true,
    title: "Dangers en cours",
    levels: levels("Alerte", "Vigilance", "Avis", "Information", "Fin"),
    exercise: "EXERCICE",
    until: (t) => `jusqu’au ${t}`,
    since: (t) => `depuis le ${t}`,
    read: (t) => `État : ${t}`,
    loading: "Chargement …",
    none: "Aucun danger en cours n’est signalé ici.",
    unwatched: "Aucun danger n’est connu ici, mais aucune alerte officielle n’est lue pour cette zone : cela ne veut pas dire qu’elle est sûre.",
    partly: "Certaines sources sont en retard : il peut manquer quelque chose.",
    lost: (t) => `Pas de connexion depuis ${t}. Ce que vous voyez peut être dépassé.`,
    never: "Pas de connexion. Rien n’est connu maintenant : cela ne veut pas dire qu’il n’y a pas de danger.",
    map: "Ouvrir la carte",
  },
  pt: {
    unchecked: true,
    title: "Perigos ativos",
    levels: levels("Alerta", "Vigilância", "Aviso", "Informação", "Fim"),
    exercise: "EXERCÍCIO",
    until: (t) => `até ${t}`,
    since: (t) => `desde ${t}`,
    read: (t) => `Dados de ${t}`,
    loading: "A carregar …",
    none: "Não há perigos ativos comunicados aqui.",
    unwatched: "Não se conhecem perigos aqui, mas não são lidos avisos oficiais desta área: isso não significa que seja segura.",
    partly: "Algumas fontes estão atrasadas: pode faltar algo.",
    lost: (t) => `Sem ligação desde ${t}. O que vê pode estar desatualizado.`,
    never: "Sem ligação. Nada se sabe agora: isso não significa que seja seguro.",
    map: "Abrir o mapa",
  },
  ar: {
    unchecked: true,
    title: "الأخطار النشطة",
    levels: levels("إنذار", "مراقبة", "تنبيه", "معلومات", "انتهاء"),
    exercise: "تمرين",
    until: (t) => `حتى ${t}`,
    since: (t) => `منذ ${t}`,
    read: (t) => `البيانات حتى ${t}`,
    loading: "جارٍ التحميل …",
    none: "لا توجد أخطار نشطة مبلّغ عنها هنا.",
    unwatched: "لا تُعرف أخطار هنا، لكن لا تُقرأ إنذارات رسمية لهذه المنطقة: هذا لا يعني أنها آمنة.",
    partly: "بعض المصادر متأخرة: قد ينقص شيء.",
    lost: (t) => `لا اتصال منذ ${t}. قد يكون ما تراه قديمًا.`,
    never: "لا اتصال. لا شيء معروف الآن: هذا لا يعني أن المكان آمن.",
    map: "افتح الخريطة",
  },
  hi: {
    unchecked: true,
    title: "सक्रिय खतरे",
    levels: levels("चेतावनी", "निगरानी", "परामर्श", "सूचना", "समाप्ति"),
    exercise: "अभ्यास",
    until: (t) => `${t} तक`,
    since: (t) => `${t} से`,
    read: (t) => `${t} की स्थिति`,
    loading: "लोड हो रहा है …",
    none: "यहाँ किसी सक्रिय खतरे की सूचना नहीं है।",
    unwatched: "यहाँ कोई खतरा ज्ञात नहीं है, पर इस क्षेत्र की आधिकारिक चेतावनियाँ नहीं पढ़ी जातीं: इसका अर्थ यह नहीं कि यह सुरक्षित है।",
    partly: "कुछ स्रोत देर से हैं: कुछ छूट सकता है।",
    lost: (t) => `${t} से कनेक्शन नहीं है। जो दिख रहा है वह पुराना हो सकता है।`,
    never: "कनेक्शन नहीं है। अभी कुछ ज्ञात नहीं है: इसका अर्थ यह नहीं कि सब सुरक्षित है।",
    map: "मानचित्र खोलें",
  },
  ja: {
    unchecked: true,
    title: "発生中の災害",
    levels: levels("警報", "警戒", "注意報", "情報", "終了"),
    exercise: "訓練",
    until: (t) => `${t}まで`,
    since: (t) => `${t}から`,
    read: (t) => `${t} 現在`,
    loading: "読み込み中 …",
    none: "ここで報告されている災害はありません。",
    unwatched: "ここで知られている災害はありませんが、この地域の公式な警報は読み込まれていません。安全という意味ではありません。",
    partly: "一部の情報源が遅れています。不足があるかもしれません。",
    lost: (t) => `${t}から接続がありません。表示が古い可能性があります。`,
    never: "接続がありません。現在の状況は不明です。安全という意味ではありません。",
    map: "地図を開く",
  },
  id: {
    unchecked: true,
    title: "Bahaya aktif",
    levels: levels("Peringatan", "Siaga", "Imbauan", "Informasi", "Berakhir"),
    exercise: "LATIHAN",
    until: (t) => `sampai ${t}`,
    since: (t) => `sejak ${t}`,
    read: (t) => `Data per ${t}`,
    loading: "Memuat …",
    none: "Tidak ada bahaya aktif yang dilaporkan di sini.",
    unwatched: "Tidak ada bahaya yang diketahui di sini, tetapi peringatan resmi untuk wilayah ini tidak dibaca: itu tidak berarti aman.",
    partly: "Sebagian sumber terlambat: mungkin ada yang kurang.",
    lost: (t) => `Tidak ada koneksi sejak ${t}. Yang Anda lihat mungkin sudah usang.`,
    never: "Tidak ada koneksi. Sekarang tidak ada yang diketahui: itu tidak berarti aman.",
    map: "Buka peta",
  },
};

export const languages = Object.keys(words);
