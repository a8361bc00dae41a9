package cap

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The publishers that the citations of the words name. They issue warnings with these words.
const (
	recorded  = "event names of the recorded feeds (Canada, Croatia, Bosnia, Germany, Austria, Australia, India, China, Saudi Arabia, USA)"
	profiles  = "event names of WMO Cg-18 and of CAP-CP, CAP-AU and NWS (api.weather.gov/alerts/types)"
	judgement = "judgement"
	africa    = "WMO METEOTERM; feeds of the African services in WMO's register of alerting authorities"
	arabic    = "WMO METEOTERM (Arabic); NCM of Saudi Arabia and of the Emirates, JMD of Jordan, DGM of Morocco"
	baltic    = "LHMT (meteo.lt), LVĢMC (videscentrs.lvgmc.lv), Keskkonnaagentuur (ilmateenistus.ee)"
	caucasus  = "national meteorological services of Georgia (meteo.gov.ge), Armenia (armmonitoring.am), Azerbaijan (meteo.az)"
	central   = "ČHMÚ (chmi.cz), SHMÚ (shmu.sk), IMGW-PIB (meteo.imgw.pl), HungaroMet (met.hu), ARSO (meteo.arso.gov.si)"
	centrAsia = "Kazhydromet (kazhydromet.kz), Uzhydromet (hydromet.uz), NAMEM of Mongolia (tsag-agaar.gov.mn)"
	chinese   = "CMA (weather.com.cn/alarm), HKO (hko.gov.hk), SMG (smg.gov.mo), CWA and NCDR of Taiwan"
	greek     = "EMY (emy.gr), cyprus DoM"
	hebrew    = "IMS (ims.gov.il), Home Front Command (oref.org.il)"
	iberia    = "AEMET (aemet.es), IPMA (ipma.pt), Meteocat (meteo.cat), INMET (inmet.gov.br), SMN of Argentina and Mexico"
	italian   = "Protezione Civile (protezionecivile.gov.it), Aeronautica Militare (meteoam.it)"
	nordic    = "SMHI (smhi.se), MET Norway (met.no), DMI (dmi.dk), FMI (ilmatieteenlaitos.fi), IMO (vedur.is)"
	dutch     = "KNMI (knmi.nl), MeteoLux (meteolux.lu), Meteo Aruba, MDC of Curaçao"
	persian   = "IRIMO (irimo.ir)"
	romanian  = "ANM (meteoromania.ro), SHM of Moldova (meteo.md), IGJEO of Albania"
	slavic    = "Roshydromet (meteoinfo.ru), UkrHMC (meteo.gov.ua), NIMH (weather.bg), RHMZ (hidmet.gov.rs), UHMR (uhmr.gov.mk)"
	southAsia = "SACHET/NDMA and IMD of India (sachet.ndma.gov.in), BMD, DHM of Nepal, PMD, DoM of Sri Lanka"
	southEast = "the Indonesian agency (list of its warnings), MetMalaysia (met.gov.my), TMD (tmd.go.th), NCHMF (nchmf.gov.vn), PAGASA, DMH of Myanmar and Laos"
	eastAsia  = "KMA (weather.go.kr), Japan Meteorological Agency (list of its warnings)"
	turkish   = "MGM (mgm.gov.tr, MeteoUyarı), AFAD"
	german    = "headlines of MoWaS, whose event is a level alone (warnung.bund.de); BBK, \"Warnung in Deutschland\"; judgement"
	// vietnamese words are only matched as written, because without accents they would be other
	// words.
	vietnamese = "NCHMF of Vietnam (nchmf.gov.vn)"
)

// nameRow is a type and the words for it in several languages.
type nameRow struct {
	kind
	words []wordRow
}

// wordRow is a list of words for an event, in lowercase, separated by "|". Each must match whole
// words; "*" at an end stands for any letters, which finds compounds, endings, and words in
// languages without blanks. The text may lack accents.
type wordRow struct{ words, basis string }

// names finds the type by the words for the event. The first row that fits counts, so more specific
// words come first.
var names = []nameRow{
	{kind{}, []wordRow{
		{"child abduction*|amber alert*|blue alert*|silver alert*|missing person*|endangered person*", recorded + ": a search for persons is no hazard"},
		{"required weekly test*|required monthly test*|administrative message*|network message*|practice demo*|national periodic test*", sameCodes},
	}},
	{kind{typ: hazard.Combat}, []wordRow{
		{"air raid*|air alert*|missile*|rocket fire*|rocket attack*|повітряна тривога|воздушная тревога|*ירי רקטות*|*טילים*|*כלי טיס עוין*", "judgement; " + hebrew},
	}},
	{kind{typ: hazard.Tsunami}, []wordRow{
		{"tsunami*|maremoto*|maremoti*|*海啸*|*海嘯*|*津波*|*쓰나미*|*지진해일*", profiles},
		{"цунами*|цунамі*|τσουνάμι*|*تسونامي*|*سونامي*|*سونامی*|*צונאמי*|*สึนามิ*|*सुनामी*|*त्सुनामी*|*সুনামি*|*சுனாமி*|*సునామీ*|*സുനാമി*|*ಸುನಾಮಿ*|*සුනාමි*", southAsia},
		{"sóng thần*", vietnamese},
	}},
	{kind{typ: hazard.Volcano}, []wordRow{
		{"volcan*|ash fall*|ashfall*|lahar*|vulkan*|*火山*|*噴火*|*화산*|вулкан*|ηφαίστει*|yanardağ*|wulkan*|sopečn*|vulkán*|tulivuor*|eldgos*|vulkaan*", profiles},
		{"gunung api*|gunungapi*|erupsi*|bulkan*|*ภูเขาไฟ*|*ज्वालामुखी*|*بركان*|*بركاني*|*آتشفشان*|*הר געש*|volkano*", southEast},
		{"núi lửa*", vietnamese},
	}},
	{kind{typ: hazard.Earthquake}, []wordRow{
		{"earthquake*|seism*|séism*|sismo*|sísmic*|*erdbeben*|terremoto*|tremblement de terre*|potres*|*地震*|*지진*", profiles},
		{"deprem*|σεισμ*|землетрясени*|землетрус*|земетресени*|земјотрес*|земљотрес*|zemljotres*|zemětřesen*|zemetrasen*|trzęsieni*|földreng*|cutremur*|tërmet*|žemės drebėj*|zemestrīc*|maavärin*|maanjäristy*|jordskjelv*|jordbävning*|jordskalv*|jordskælv*|jarðskjálft*|aardbeving*", slavic + "; " + nordic},
		{"*زلزال*|*هزة أرضية*|*زلزله*|*زمین لرزه*|*רעידת אדמה*|*רעידות אדמה*|*भूकंप*|*भूकम्प*|*ভূমিকম্প*|*நிலநடுக்க*|*భూకంప*|*ഭൂകമ്പ*|*ಭೂಕಂಪ*|*භූමිකම්පා*|*แผ่นดินไหว*|gempa*|lindol*|tetemeko*|zəlzələ*|zilzila*|жер сілкін*|газар хөдл*|მიწისძვრ*|երկրաշարժ*", arabic + "; " + southAsia},
		{"động đất*", vietnamese},
	}},
	{kind{typ: hazard.Tornado}, []wordRow{
		{"tornad*|funnel cloud*|waterspout*|*windhose*|*wasserhose*|*龙卷*|*龍捲*|*竜巻*|*토네이도*|*용오름*", recorded},
		{"торнадо*|смерч*|ανεμοστρόβιλ*|υδροστρόβιλ*|σίφων*|hortum*|trąb*|tromba*|trombă*|trombe*|tornád*|windhoos*|windhozen*|waterhoos*|skypumpe*|skýstrok*|virpuļstab*|viesul*|puting beliung*|*شاهقة مائية*|*إعصار قمعي*", slavic + "; " + iberia},
		{"lốc xoáy*", vietnamese},
	}},
	{kind{typ: hazard.Marine}, []wordRow{
		{"small craft*|small vessel*|marine*|freezing spray*|hazardous seas*|low water*|gale warning*|gale watch*|hurricane force wind*|fishermen warning*|fisherman warning*", profiles},
		{"ising på skip*|nedisning*|lågt vattenstånd*", nordic},
	}},
	{kind{typ: hazard.Storm}, []wordRow{{"extra tropical*|extratropical*", profiles}}},
	{kind{typ: hazard.Cyclone}, []wordRow{
		{"tropical storm*|tropical cyclone*|tropical depression*|hurricane*|typhoon*|super typhoon*|cyclon*|ciclón*|ciclone*|huracán*|*台风*|*颱風*|*台風*|*热带气旋*|*熱帶氣旋*|*热带风暴*|*熱帶風暴*|*热带低压*|*熱帶性低氣壓*|*태풍*|*열대저압부*", profiles},
		{"tormenta tropical*|depresión tropical*|tempestade tropical*|depressão tropical*|furacão*|furacões*|tempête tropicale*|dépression tropicale*|ouragan*|uragano*|uragani*|*tropensturm*|*wirbelsturm*|hurrikan*|taifun*|zyklon*|cicló tropical*|orkaan*|tropische storm*", iberia},
		{"тайфун*|тропическ*|тропічн*|τυφώνα*|κυκλών*|tayfun*|tropikal*|trópusi*|tropisk*", slavic},
		{"*พายุโซนร้อน*|*พายุไต้ฝุ่น*|*พายุดีเปรสชัน*|*พายุหมุน*|siklon*|bagyo*|*ဆိုင်ကလုန်း*", southEast},
		{"bão|bão số*|cơn bão*|siêu bão*|áp thấp nhiệt đới*", vietnamese},
		{"*चक्रवात*|*ঘূর্ণিঝড়*|*புயல்*|*తుఫాన*|*తుపాన*|*ചുഴലിക്കാറ്റ്*|*ಚಂಡಮಾರುತ*|*ચક્રવાત*|*ବାତ୍ୟା*|*කුණාටු*|*سمندری طوفان*", southAsia},
		{"*إعصار*|*عاصفة مدارية*|*العاصفة المدارية*|kimbunga*|dutu remhepo*|rivodoza*", arabic + "; " + africa},
	}},
	{kind{typ: hazard.Avalanche}, []wordRow{
		{"avalanch*|*lawine*|lawin*|valang*|lavin*|*雪崩*|*なだれ*|*눈사태*", profiles},
		{"çığ*|χιονοστιβάδ*|лавин*|snøskred*|snöskred*|sneskred*|lumivyöry*|snjóflóð*|allau*|alud|aludes|avalanș*|snežni plaz*|lumelaviin*|*انهيار ثلجي*|*انهيارات ثلجية*|*سقوط بهمن*|*ریزش بهمن*|*हिमस्खलन*|ზვავ*", nordic + "; " + central},
	}},
	{kind{typ: hazard.Landslide}, []wordRow{
		{"landslide*|land slide*|landslip*|mudslide*|mudflow*|mud slide*|debris flow*|rockfall*|rock fall*|*erdrutsch*|*hangrutsch*|deslizamiento*|deslave*|glissement de terrain*|klizišt*|*滑坡*|*泥石流*|*地质灾害*|*地質災害*|*土石流*|*山泥傾瀉*|*土砂災害*|*土砂崩れ*|*산사태*", profiles},
		{"heyelan*|toprak kayma*|κατολίσθησ*|κατολισθήσ*|оползен*|оползн*|селев*|сель|зсув*|свлачищ*|свлечишт*|клизишт*|odron*|zemeljski plaz*|sesuv*|zosuv*|osuwisk*|földcsuszam*|alunecar*|rrëshqitje*|nuošliauž*|nogruvum*|maalih*|maanvyöry*|jordskred*|flomskred*|skriðu*|aurskrið*|aardverschuiving*|esllavissad*|frana*|frane*|deslizament*|movimento de massa*", slavic + "; " + nordic},
		{"*انهيار أرضي*|*انهيارات أرضية*|*انزلاق*|*رانش زمین*|*भूस्खलन*|*पहिरो*|*ভূমিধস*|*நிலச்சரிவு*|*ഉരുൾപൊട്ടൽ*|*മണ്ണിടിച്ചിൽ*|*ಭೂಕುಸಿತ*|*నేల జారు*|*නායයෑ*|*නායයා*|*ดินถล่ม*|*ดินโคลน*|tanah longsor*|longsor*|tanah runtuh*|maporomoko*", southAsia + "; " + southEast},
		{"sạt lở*", vietnamese},
	}},
	{kind{hazard.Wildfire, true}, []wordRow{
		{"fire weather*|red flag*|extreme fire danger*|fire danger*|forest fire danger*|grassland fire danger*|veld fire*|elevated fire*|critical fire*|total fire ban*|*waldbrandgefahr*|*waldbrandgefährdung*|*grasbrandgefahr*|*森林火险*|*森林火險*|*火災危險*|*乾燥*|*건조*|*산불위험*", "judgement: weather that favours fire, and no fire yet, is one level less"},
		{"orman yangını riski*|κίνδυνος πυρκαγ*|пожарная опасность*|пожарной опасност*|пожароопасн*|пожежна небезпек*|пожежної небезпек*|opasnost od požara*|požarna ogrož*|nebezpečí požár*|riziko požár*|riziko požiar*|nebezpečenstvo požiar*|zagrożenie pożarow*|tűzveszély*|risc de incendi*|brandrisk*|skogbrannfare*|brandfare*|metsäpalovaroitu*|maastopalovaroitu*|ruohikkopalovaroitu*|tuleoh*|ugunsbīstam*|miškų gaisring*|gaisrų pavoj*|risc d incendi*|rischio incendi*|pericolo incendi*|peligro de incendio*|riesgo de incendio*|risco de incêndio*|perigo de incêndio*|danger de feu*|natuurbrandgevaar*|veldbrandgevaar*", slavic + "; " + nordic + "; " + iberia},
	}},
	{kind{typ: hazard.Wildfire}, []wordRow{
		{"wildfire*|wild fire*|bushfire*|bush fire*|forest fire*|grass fire*|grassfire*|vegetation fire*|scrub fire*|fire warning|*waldbrand*|*flächenbrand*|*vegetationsbrand*|*moorbrand*|*heidebrand*|incendio forestal*|incendios forestales*|incêndio florestal*|incêndios florestais*|incendi forestal*|incendio boschivo*|incendi boschivi*|feu de forêt*|feux de forêt*", recorded},
		{"orman yangın*|πυρκαγι*|лесной пожар*|лесные пожар*|лесных пожар*|ландшафтный пожар*|ландшафтные пожар*|природный пожар*|природные пожар*|лісов*|пожежі*|горски пожар*|шумски пожар*|šumski požar*|gozdni požar*|lesní požár*|lesný požiar*|pożar las*|erdőtűz*|incendii de*|zjarre*|skogbrann*|skogsbrand*|gräsbrand*|metsäpalo*|metsapõleng*|mežu ugunsgrēk*|meža ugunsgrēk*|miško gaisr*|natuurbrand*|bosbrand*|veldbrand*", slavic + "; " + nordic},
		{"*حرائق*|*حريق غاب*|*آتش سوزی*|*שריפת*|*שריפות*|*जंगल की आग*|*वनाग्नि*|*दावानल*|*ไฟป่า*|kebakaran hutan*|karhutla*|*山火*|*森林火灾*|*森林火災*|*野火*|*林野火災*|*산불*|ой хээрийн түймэр*|*түймэр*", arabic + "; " + southAsia + "; " + southEast},
		{"cháy rừng*", vietnamese},
	}},
	{kind{typ: hazard.Flood}, []wordRow{
		{"flood*|flash flood*|coastal flood*|storm surge*|storm tide*|high water*|river level*|water level*|rising water*|reservoir discharge*|inundaci*|inundaç*|inondation*|crue|crues|*hochwasser*|*dammbruch*|*deichbruch*|*überflut*|*überschwemm*|*sturmflut*|alluvion*|poplav*|dam break*|dam failure*|dam release*|glacial lake outburst*|glof*|cloudburst*|cloud burst*|rain flood*|*洪水*|*山洪*|*内涝*|*內澇*|*洩洪*|*泄洪*|*淹水*|*暴潮*|*水浸*", profiles},
		{"sel|sel baskın*|taşkın*|su baskın*|πλημμύρ*|πλημμυρ*", turkish + "; " + greek},
		{"наводнени*|паводок*|паводк*|половодь*|подтоплени*|затоплени*|подъем уровн*|подъём уровн*|повышение уровн*|повін*|підтоплен*|підвищення рівн*|наводнен*|поплав*|поплава*", slavic},
		{"povodeň*|povodn*|záplav*|powódź|powodzi*|powodz*|wezbrani*|podtopieni*|wzrost stanów wody*|wzrosty stanów wody*|gwałtowne wzrosty*|árvíz*|áradás*|árhullám*|villámárvíz*|inundați*|viitur*|përmbytj*|potvyn*|plūd*|applūš*|üleujutu*|tulva*|meriveden korkeus*|korkea merivesi*", central + "; " + romanian + "; " + baltic},
		{"flom|flom*|styrtflom*|stormflo*|översvämning*|höga flöden*|höga vattenflöden*|högt vattenstånd*|höga vattenstånd*|oversvømmelse*|forhøjet vandstand*|stormflod*|flóð*|vatnsflóð*|sjávarflóð*|vatnavext*|overstroming*|wateroverlast*|hoogwater*|hoog water*|iwwerschwemm*|héichwaasser*|vloed*|inundashon*", nordic + "; " + dutch},
		{"enchente*|cheia|cheias|alagament*|enxurrada*|subida do nível*|allagament*|esondazion*|rischio idraulico*|criticità idraulica*|idraulic*|idrogeologic*|acqua alta*|desbordamiento*|crecida*|riada*|inundacions*|submersion*", iberia + "; " + italian},
		{"*فيضان*|*سيول*|*سيل*|*سیلاب*|سیل|*آبگرفتگی*|*طغیان رود*|*שיטפון*|*שיטפונות*|*שטפון*|*שטפונות*|*הצפה*|*הצפות*", arabic + "; " + persian + "; " + hebrew},
		{"*बाढ़*|*बाढ*|*जलभराव*|पूर|*महापूर*|*बाढी*|*डुबान*|*বন্যা*|*પૂર*|*ਹੜ੍ਹ*|*வெள்ள*|*వరద*|*ಪ್ರವಾಹ*|*വെള്ളപ്പൊക്ക*|*പ്രളയ*|*ගංවතුර*|*ବନ୍ୟା*", southAsia},
		{"*น้ำท่วม*|*น้ำป่า*|*น้ำหลาก*|*น้ำล้นตลิ่ง*|*ນ້ຳຖ້ວມ*|*ນໍ້າຖ້ວມ*|*ទឹកជំនន់*|*ရေကြီး*|*ရေလျှံ*|banjir*|baha|pagbaha*", southEast},
		{"lũ*|ngập*|triều cường*", vietnamese},
		{"*홍수*|*침수*|*범람*|*해일*|*氾濫*|*浸水*|*高潮*|*洪災*|*洪涝*", eastAsia + "; " + chinese},
		{"үер*|*су тасқын*|тасқын*|suv toshqin*|sel xavfi*|წყალდიდობ*|წყალმოვარდნ*|հեղեղ*|վարարում*|daşqın*", centrAsia + "; " + caucasus},
		{"mafuriko*|ambaliya*|fatahaad*|daadad*|*ጎርፍ*|lolaa*|morwalela*|merwalela*|mafashamu*|amataba*|mataba*|izikhukhula*|umwuzure*|inondasyon*", africa},
	}},
	{kind{typ: hazard.WinterStorm}, []wordRow{
		{"blizzard*|snow*|winter storm*|winter weather*|ice|ice storm*|icing*|icy*|lake effect snow*|freezing rain*|freezing drizzle*|flash freeze*|sleet*|black ice*|*schnee*|*glätte*|*glatteis*|neige*|verglas*|nieve*|nevada*|neve|snijeg*|sneg*|poledic*|*暴雪*|*大雪*|*雪灾*|*冰冻*|*道路结冰*|*道路結冰*|*凍雨*|*冻雨*", recorded},
		{"kar|tipi|buzlanma*|χιόν*|χιον*|παγετ*|снег*|снегопад*|метел*|пурга*|гололед*|гололёд*|изморозь*|сніг*|снігопад*|хуртовин*|заметіл*|ожелед*|налипання*|налипание*|снеговалеж*|поледиц*|заледяване*|снијег*|мећав*|susnežic*|mećav*", turkish + "; " + greek + "; " + slavic},
		{"sněh*|sněž*|sníh|náled*|ledovk*|námraz*|snežen*|sneh*|poľadovic*|śnieg*|śnież*|zawiej*|zamieci*|gołoled*|oblodzeni*|marznąc*|havaz*|hófúvás*|ónos eső*|jegesedés*|ninsoare*|ninsori*|viscol*|polei*|zăpad*|dëbor*|snieg*|snyg*|pūg*|plikled*|lijundr*|apled*|sniegputen*|puteni*|atkal*|lumesad*|lumi|tuisk*|jäide*|kiilasjää*|libedus*|lumisade*|lumi*|jalankulkusää*", central + "; " + romanian + "; " + baltic},
		{"snø|snø*|snö|snö*|sne|snefald*|snestorm*|snefygning*|isslag*|islag*|halka*|blixthalka*|ishalka*|underkylt*|glat føre*|snjó*|hríð*|skafrenn*|ísing*|hálka*|sneeuw*|gladheid*|ijzel*|schnéi*|neu|nevad*|glaç*|nevicat*|ghiaccio*|gelicidio*|pioggia congelan*|queda de neve*", nordic + "; " + dutch + "; " + italian},
		{"*ثلوج*|*ثلج*|*جليد*|برف*|*بارش برف*|*کولاک*|*שלג*|*برفباری*|*बर्फबारी*|*हिमपात*|*หิมะ*|tuyết*|salju*|*대설*|*폭설*|*강설*|*빙판*|*風雪*|*着雪*|*着氷*|цас|цасан*|თოვლ*|ყინულ*|ձյուն*|ձյան*|մերկասառույց*|qar|qarlı*|buzbağl*|қар|көктайғақ*|qor|qor yog*|боран*", arabic + "; " + persian + "; " + eastAsia + "; " + caucasus},
	}},
	{kind{typ: hazard.ExtremeTemperature}, []wordRow{
		{"heat*|extreme heat*|excessive heat*|hot|very hot*|cold|cold wave*|cold spell*|cold weather*|very cold*|extreme cold*|arctic outflow*|wind chill*|high temperature*|low temperature*|temperatur*|extreme temperature*|frost*|freeze*|hard freeze*|*hitze*|*frost*|*kälte*|canicule*|grand froid*|calor*|ola de calor*|onda de calor*|onda de frio*|frío*|niska temperatura*|visoka temperatura*|*高温*|*高溫*|*低温*|*低溫*|*寒潮*|*寒冷*|*酷热*|*酷熱*|*霜冻*|*霜凍*|*猛暑*|*熱中症*|*霜*", recorded},
		{"température*|chaleur*|froid*|friagem*|geada*|tempo quente*|tempo frio*|helada*|ola de frío*|ondes de calor*|onada de*|fred|calor|caldo*|ondata di*|ondate di*|calore*|freddo*|gelate*", iberia + "; " + italian},
		{"sıcak*|aşırı sıcak*|soğuk*|zirai don*|kuvvetli don*|don olayı*|θερμοκρασί*|καύσων*|ζέστη*|ψύχο*", turkish + "; " + greek},
		{"жара|жары|жарк*|сильная жара*|аномально*|мороз*|заморозк*|холод*|температур*|спек*|похолодан*|студ*|горещ*|врућин*|хладноћ*|мраз*|toplotni val*|toplinski val*|vrućin*|vročin*|hladnoć*|mraz*|слана*", slavic},
		{"teplot*|vedr*|horko*|silné mrazy*|silný mráz*|mráz*|mrazy*|upał*|mróz|mrozy|mrozu|przymrozk*|hőség*|hőhullám*|hőmérséklet*|hideg*|fagy*|kánikul*|canicul*|ger|îngheț*|brumă*|bruma*|val de căldură*|disconfort termic*|nxeht*|ftoht*|karšt*|kaitr*|šalt*|šaln*|speig*|karstum*|liels aukst*|aukstum*|salna*|sals|kuumu*|kuumalain*|külm*|öökülm*|helle*|pakka*|kylmä*|hallavaroitu*|halla", central + "; " + romanian + "; " + baltic},
		{"värme*|höga temperatur*|kyla|köld*|varme*|hete|hetebølge*|hedebølge*|kulde*|hitar|kuldi|hitte*|koude*|vorst*|hëtzt*|keelt*", nordic + "; " + dutch},
		{"*موجة حارة*|*أجواء حارة*|*طقس حار*|*الحارة*|*موجة حر*|*حرارة*|*موجة باردة*|*موجة برد*|*برودة*|*صقيع*|*گرما*|*سرما*|*یخبندان*|دما|*کاهش دما*|*افزایش دما*|*עומס חום*|*גל חום*|*חום כבד*|קור|קרה|*קור קיצוני*|*گرمی*|*سردی*|*ہیٹ ویو*", arabic + "; " + persian + "; " + hebrew},
		{"लू|*गर्मी*|*गर्म हवा*|*तापमान*|*उष्ण लहर*|*उष्णतेची लाट*|*शीत लहर*|*शीतलहर*|*पाला*|*ठंड*|*थंडी*|*তাপপ্রবাহ*|*শৈত্যপ্রবাহ*|*હીટવેવ*|*ગરમી*|*ઠંડી*|*வெப்ப*|*வெயில்*|*குளிர்*|*వడగా*|*వేడి*|*ಶಾಖ*|*ಬಿಸಿ*|*ಚಳಿ*|*ചൂട്*|*ഉഷ്ണ*|*උෂ්ණත්ව*|*උණුසුම්*|*ଗରମ*|*ਗਰਮੀ*", southAsia},
		{"*อากาศร้อน*|*ร้อนจัด*|*อากาศหนาว*|*หนาวจัด*|*คลื่นความร้อน*|suhu*|gelombang panas*|panas ekstrem*|cuaca panas*|gelombang haba*|*폭염*|*한파*|*서리*|*저온*|*고온*|*열대야*", southEast + "; " + eastAsia},
		{"nắng nóng*|rét|không khí lạnh*|sương muối*", vietnamese},
		{"хүйтэн*|хүйтрэл*|хүйтрэ*|халуун*|аагим*|სიცხ*|ყინვ*|ტემპერატურ*|շոգ*|ցուրտ*|ցրտահար*|ջերմ*|isti*|şaxta*|soyuq*|аяз*|ыстық*|аптап*|суық*|үсік*|issiq*|sovuq*|jazirama*|joto*|baridi*|zafi*|sanyi*", centrAsia + "; " + caucasus + "; " + africa},
	}},
	{kind{typ: hazard.Occurrence}, []wordRow{
		{"fog|dense fog*|freezing fog*|fog advisory*|mist|smoke*|dense smoke*|haze*|smog*|air quality*|air stagnation*|air pollution*|low visibility*|poor visibility*|low humidity*|ozone*|uv|uv radiation*|geomagnetic*|space weather*|*nebel*|*rauch*|*ozon*|brouillard*|niebla*|magla*|*大雾*|*大霧*|*濃霧*|*浓雾*|*霾*|*空氣*|*空气*|*안개*|*미세먼지*", profiles},
		{"sis|yoğun sis*|ομίχλη*|ομιχλ*|туман*|мъгл*|магла*|magl*|megl*|mlh*|mlah*|hml*|mgł*|mgla*|köd|sűrű köd*|ceaț*|mjegull*|rūk*|migl*|udu|sumu*|tåke*|tåge*|dimma*|þok*|niwwel*|boira*|nebbi*|nevoeiro*|neblina*|névoa*|baixa umidade*|calima*|polvo en suspensión*|pols en suspensió*", slavic + "; " + central + "; " + nordic + "; " + iberia},
		{"*ضباب*|*شبورة*|مه|*مه غلیظ*|*مه گرفتگی*|*ערפל*|*אובך*|*دھند*|*कोहरा*|*धुंध*|*धुके*|*हुस्सु*|*कुहिरो*|*কুয়াশা*|*மூடுபனி*|*పొగమంచు*|*ಮಂಜು*|*หมอก*|*ฝุ่น pm*|kabut*|jerebu*|манан*|ნისლ*|մառախուղ*|duman*|тұман*|tuman*|ukungu*", arabic + "; " + southAsia + "; " + southEast},
		{"sương mù*", vietnamese},
	}},
	{kind{typ: hazard.HighSurf}, []wordRow{
		{"surf|high surf*|hazardous surf*|rip current*|beach hazard*|coastal event*|coastalevent*|high wave*|high seas*|high tide*|king tide*|waves|wave*|swell*|rough sea*|rissaga*|rissagues*|oleaje*|costero*|fenómenos costeros*|vagues*|*海浪*|*大浪*|*巨浪*|*長浪*|*波浪*|*高波*|*풍랑*|*너울*", meteoalarm + "; " + profiles},
		{"denizde dalga*|yüksek dalga*|κυματισμ*|υψηλά κύματα*|волнени*|сильное волнение*|хвилюван*|хвилі*|вълнени*|visoki valovi*|valovi*|fale|sztorm*|valuri*|dallg*|aallok*|aallonkorkeu*|bølge*|høge bølg*|høye bølg*|vågor*|höga vågor*|golven|mar gruesa*|marejada*|mar de fondo*|agitação marítima*|ressaca*|ondas|mareggiat*|moto ondoso*|mare agitato*|estat de la mar*|onatge*|onades*|mala mar*", slavic + "; " + nordic + "; " + iberia},
		{"*أمواج*|*الأمواج*|*اضطراب البحر*|*هيجان البحر*|*مواج*|*امواج*|*גלים*|*ऊंची लहर*|*उच्च लहर*|*समुद्री लहर*|*கடல் அலை*|*உயர் அலை*|*തിരമാല*|*കള്ളക്കടൽ*|*คลื่นลม*|*คลื่นสูง*|gelombang tinggi*|gelombang laut*|laut bergelora*|mawimbi*", arabic + "; " + southAsia + "; " + southEast},
		{"sóng lớn*", vietnamese},
	}},
	{kind{typ: hazard.Storm}, []wordRow{
		{"thunder*|lightning*|severe thunderstorm*|severe weather*|dust storm*|duststorm*|sandstorm*|sand storm*|dust*|blowing dust*|sand|hail*|squall*|polar low*|rain*|heavy rain*|torrential rain*|heavy shower*|shower*|downpour*|monsoon*|low pressure*|tropical wave*|cold front*|*gewitter*|*hagel*|*regen*|*unwetter*|orage*|pluie*|averse*|grêle*|fortes pluies*|tormenta*|lluvia*|granizo*|chubasco*|aguacero*|precipitacion*|chuva*|pioggia*|temporale*|kiša*|kišu*|kiše*|grmljavin*|oluj*|onweer*|neerslag*|*暴雨*|*雷*|*冰雹*|*大雨*|*豪雨*|*强对流*|*強對流*|*沙尘*|*沙塵*|*黄砂*|*降雹*|*雨*", recorded},
		{"gök gürültülü*|sağanak*|yağış*|yağmur*|kuvvetli yağış*|şiddetli yağış*|dolu|yıldırım*|oraj*|toz taşınım*|kum fırtına*|καταιγίδ*|βροχ*|χαλάζι*|χαλαζ*|κεραυν*|σκόνη*|έντονα καιρικά*", turkish + "; " + greek},
		{"гроз*|дожд*|ливен*|ливн*|осадк*|пыльн*|шквал*|конвектив*|дощ*|злив*|опад*|пилов*|град|града|градом|гръмотев*|гръм*|валеж*|дъжд*|градушк*|грмеж*|невреме*|грмљавин*|олуј*|киш*|падавин*|пљуск*|pljusk*|nevrijem*|nevreme*|tuča*|grad|nevihta*|nevihte*|neurj*|dežev*|dež|padavin*|toča*", slavic},
		{"bouřk*|déšť|dešt*|přívalov*|kroup*|srážk*|búrk*|dážď|dažď*|zrážk*|krúp*|burz*|deszcz*|opady*|ulew*|gradobici*|zivatar*|felhőszakad*|eső|esőzés*|jégeső*|csapadék*|ploi*|ploaie*|grindin*|averse*|descărcări*|precipitați*|instabilitate*|oraj*|reshje*|breshër*|shtrëngat*|rrufe*|stuhi*|perkūnij*|liet*|kruš*|audr*|škval*|pērkon*|krus*|negais*|äike*|vihm*|rahe*|padu*|paduvihm*", central + "; " + romanian + "; " + baltic},
		{"ukko*|rankkasade*|sade|sadevaroitu*|raesade*|rakeet*|syöksyvirtau*|torden*|lyn|lynnedslag*|styrtregn*|regn*|skybrud*|skyfall*|hagl*|åska*|åsk*|hagel*|þrum*|elding*|rigning*|úrkom*|onweder*|buien*|zware buien*|donnerwieder*|reewieder*|reën*|awaseru*|yobida*", nordic + "; " + dutch},
		{"tempest*|pluja|pluges|tronad*|calamarsa*|pedregad*|precipitaci*|temporali*|piogg*|grandin*|fulmin*|rovesci*|nubifrag*|trovoad*|precipitaç*|aguaceiro*|acumulado de chuva*|raios|relâmpago*|rayos|tronada*|rissag*", iberia + "; " + italian},
		{"*عواصف رعدية*|*عاصفة رعدية*|*رعدية*|*رعد*|*أمطار*|*امطار*|*مطر*|*هطول*|*البرد*|برد|*رملية*|*غبار*|*أتربة*|*ترابية*|*زوبعة*|*باران*|*بارش*|*رگبار*|*تگرگ*|*طوفان*|*گرد و خاک*|*گردوخاک*|*ریزگرد*|*גשם*|*גשמים*|*סופת*|*סופות*|*רעמים*|ברד|*סערה*|*אבק*|*ژالہ باری*|*آندھی*", arabic + "; " + persian + "; " + hebrew},
		{"*गरज*|*आंधी*|*आँधी*|*तूफान*|*तूफ़ान*|*बारिश*|*वर्षा*|*वृष्टि*|*बिजली*|*वज्रपात*|*मेघगर्ज*|*पाऊस*|*पावसा*|*गडगडाट*|*वीज*|*विजा*|*वादळ*|*हावाहुरी*|*चट्याङ*|*ঝড়*|*বৃষ্টি*|*বজ্র*|*વરસાદ*|*ગાજવીજ*|*વીજળી*|*વાવાઝોડ*|*ਮੀਂਹ*|*ਬਾਰਿਸ਼*|*ਗਰਜ*|*ਤੂਫਾਨ*|*மழை*|*இடி*|*மின்னல்*|*వర్ష*|*ఉరుము*|*పిడుగు*|*మెరుపు*|*ಮಳೆ*|*ಗುಡುಗು*|*ಸಿಡಿಲು*|*ಮಿಂಚು*|*മഴ*|*ഇടി*|*വැසි*|*වර්ෂා*|*වැස්ස*|*අකුණු*|*ବର୍ଷା*|*ବଜ୍ରପାତ*", southAsia},
		{"*ฝน*|*ฟ้าคะนอง*|*พายุ*|*ลูกเห็บ*|*ຝົນ*|*ພາຍຸ*|*ភ្លៀង*|*ផ្គររន្ទះ*|*ព្យុះ*|*မိုး*|*မုန်တိုင်း*|hujan*|petir*|ribut*|ulan|malakas na ulan*|pag ulan*|pagkidlat*", southEast},
		{"mưa*|dông*|giông*|sét|lốc|tố lốc*", vietnamese},
		{"*호우*|*폭우*|*뇌우*|*낙뢰*|*우박*|*황사*|бороо*|аадар*|аянга*|мөндөр*|шороон*|шуурга*|წვიმ*|ელჭექ*|სეტყვ*|ნალექ*|անձրև*|ամպրոպ*|կարկուտ*|տեղում*|yağıntı*|leysan*|şimşək*|жаңбыр*|найзағай*|жауын*|бұршақ*|шаңды дауыл*|yomg*|momaqaldiroq*|jala*", eastAsia + "; " + centrAsia + "; " + caucasus},
		{"mvua*|radi|ngurumo*|dhoruba*|ruwa|ruwan*|tsawa*|guguwa*|roob*|hillaac*|*ዝናብ*|*ነጎድጓድ*|*መብረቅ*|rooba*|bakakkaa*|pula|dipula*|mvura*|mheni*|enkuba*|lapli*", africa},
	}},
	{kind{typ: hazard.HighWind}, []wordRow{
		{"wind*|high wind*|strong wind*|gale*|gust*|near gale*|storm force wind*|*böen*|*sturm*|*orkan*|*starkwind*|viento*|vent|vento*|vents*|vjetar*|vjetr*|vetar*|*大风*|*大風*|*阵风*|*陣風*|*烈風*|*季候風*|*季風*|*強風*|*暴風*|*강풍*|*돌풍*", recorded},
		{"rüzgar*|rüzgâr*|fırtına*|kuvvetli rüzgar*|άνεμο*|ανέμο*|ανεμ*|θυελλ*|μποφόρ*", turkish + "; " + greek},
		{"ветер|ветра|ветр*|ураган*|буря|бури|шторм*|вітер|вітру|буревій*|вятър*|ветров*|ветар*|кошав*|košav*|bura|jugo|veter|vetr*|burja*|vítr|větr*|vichřic*|orkán*|vietor|víchric*|wiatr*|wichur*|szél|szél*|viharos*|vihar*|vânt*|vijeli*|intensificări*|furtun*|erë|vėj*|vēj*|vētr*|brāzm*|viesuļvētr*|tuul|tuule*|torm|torm*", slavic + "; " + central + "; " + romanian + "; " + baltic},
		{"tuuli*|myrsky*|puuska*|kova tuuli*|vind|vind*|kuling*|stormvarning*|hvassviðri*|stormur*|vindhvið*|zware windstoten*|stuerm*|ventada*|venti|raffic*|burrasc*|rajada*|ventania*|vendaval*|ráfaga*|racha*|zonda*|biento*|bientu*", nordic + "; " + iberia + "; " + dutch},
		{"*رياح*|*هبات*|*عواصف*|باد|*وزش باد*|*تندباد*|*רוח*|*रफ्तार*|*तेज हवा*|*तेज़ हवा*|*हवा*|*वाऱ्या*|*हावा*|*হাওয়া*|*বাতাস*|*પવન*|*காற்று*|*గాలు*|*ಗಾಳಿ*|*കാറ്റ*|*සුළං*|*සුළඟ*|*ਹਨੇਰੀ*|*ลมแรง*|*ลมกระโชก*|*ลม*|angin*|hangin*|*လေပြင်း*", arabic + "; " + southAsia + "; " + southEast},
		{"gió*", vietnamese},
		{"салхи*|ქარ*|ქარიშხ*|გრიგალ*|քամ*|külək*|güclü külək*|жел|желд*|дауыл*|екпінді*|shamol*|dovul*|upepo*|iska|dabayl*|*ንፋስ*|*ነፋስ*|bubbee*|diphefo*|phefo*|sefefo*|mhepo*|empewo*|omuyaga*", centrAsia + "; " + caucasus + "; " + africa},
	}},
	{kind{typ: hazard.Storm}, []wordRow{
		{"storm*|tempête*|temporal*|tempestad*|бур*|inclement weather*|adverse weather*|*हवामान*|cuaca ekstrem*|cuaca buruk*", judgement},
	}},
	{kind{typ: hazard.Drought}, []wordRow{
		{"drought*|dry spell*|water shortage*|*dürre*|*trockenheit*|sequía|seca|sécheresse*|*干旱*|*乾旱*|*가뭄*|*渇水*|*干ばつ*", profiles},
		{"kuraklık*|ξηρασία*|засух*|посух*|суш*|suša|sucho*|susz*|aszály*|secet*|thatësir*|sausr*|sausum*|põud*|kuivuu*|tørke*|torka|vattenbrist*|risk för vattenbrist*|droogte*|sequera*|siccità*|estiagem*|*جفاف*|*خشکسالی*|*בצורת*|*सूखा*|*খরা*|*வறட்சி*|*ภัยแล้ง*|kekeringan*|kemarau*|ган|ukame*|fari|abaar*|*ድርቅ*|hongee*", slavic + "; " + nordic + "; " + southEast + "; " + africa},
		{"hạn hán*|xâm nhập mặn*", vietnamese},
	}},
	{kind{typ: hazard.Accident}, []wordRow{
		{"nuclear*|radiolog*|hazardous material*|chemical*|explosion*|gas leak*|toxic*|oil spill*|industrial accident*|industrial fire*|*gefahrstoff*|*gasaustritt*|*chemieunfall*|accidente químico*|accident industriel*", profiles},
		{"*radioaktiv*|*kernkraftwerk*|*atomkraftwerk*|*ölunfall*|*bahnunfall*|*zugunglück*|*gasleck*|*gasgeruch*", german},
	}},
	{kind{typ: hazard.Biomedical}, []wordRow{
		{"epidemic*|pandemic*|disease*|*tierseuche*|*seuche*|cholera*|dengue*|covid*|locust*|*疫情*", judgement},
		{"*pandemie*|*infektionsgeschehen*|*geflügelpest*|*vogelgrippe*|*schweinepest*", german},
	}},
	{kind{typ: hazard.Equipment}, []wordRow{
		{"power outage*|power failure*|blackout*|telephone outage*|911 telephone outage*|*stromausfall*|*stromabschaltung*|*notrufausfall*|*ausfall notruf*", "recorded MoWaS warning BBK-EVC-063; 911 Telephone Outage of NWS"},
		{"*ausfall telefon*|*telefonausfall*|*ausfall mobilfunk*|*gasmangellage*|*ausfall der wasserversorgung*|*störung der wasserversorgung*|*ausfall der gasversorgung*", german},
	}},
	{kind{typ: hazard.Incident}, []wordRow{
		{"evacuation*|evacuate*|shelter in place*|civil danger*|civil emergency*|law enforcement warning*|local area emergency*|fire|structure fire*|building fire*|drinking water*|boil water*|road closure*|road closed*|*großbrand*|*evakuierung*|*kampfmittel*|*bombenfund*|*trinkwasser*", profiles + "; INCIDENT says no more than the source does"},
		{"*fliegerbombe*|*weltkriegsbombe*|*bombenentschärfung*|*entschärfung*|*abkochgebot*|brand in*|*brandgeruch*|*geruchsbelästigung*|*asbest*|*einsturzgefahr*|*straßensperrung*|*polizeieinsatz*|*polizeilage*", german},
	}},
	{kind{typ: hazard.Terrorism}, []wordRow{{"terror*", judgement}}},
	{kind{typ: hazard.ActiveShooter}, []wordRow{{"active shooter*|*amoklage*", judgement}}},
	{kind{typ: hazard.CivilUnrest}, []wordRow{{"civil unrest*|riot*", judgement}}},
	{kind{typ: hazard.Cyber}, []wordRow{{"cyber*", judgement}}},
}

// patterns are the words of names to search for: first as written, then without accents, for texts
// in capitals or typed without accents. Vietnamese is only searched for as written, because accents
// distinguish its words. They are made once they are searched for: most commands read no alert.
var patterns = sync.OnceValues(func() (exact, plain []pattern) { return compile(names) })

type pattern struct {
	kind
	text string // with a blank at each end, except where "*" allows more letters
}

func compile(rows []nameRow) (exact, plain []pattern) {
	for _, r := range rows {
		for _, w := range r.words {
			for word := range strings.SplitSeq(w.words, "|") {
				text := normal(strings.Trim(word, "*"))
				if !strings.HasPrefix(word, "*") {
					text = " " + text
				}
				if !strings.HasSuffix(word, "*") {
					text += " "
				}
				exact = append(exact, pattern{r.kind, text})
				if bare := withoutAccents(text); bare != text && w.basis != vietnamese {
					plain = append(plain, pattern{r.kind, bare})
				}
			}
		}
	}
	return exact, append(plain, exact...)
}

// withoutAccents returns text without the accents of Latin, Greek and Cyrillic letters, and with i for the Turkish ı.
func withoutAccents(text string) string {
	bare := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x300 && r <= 0x36f:
			return -1
		case r == 'ı':
			return 'i'
		}
		return r
	}, norm.NFD.String(text))
	return norm.NFC.String(bare)
}

// named returns the row whose words match an event's name.
func named(event string) (kind, bool) {
	text := " " + normal(event) + " "
	if text == "  " {
		return kind{}, false
	}
	exact, plain := patterns()
	for _, p := range exact {
		if strings.Contains(text, p.text) {
			return p.kind, true
		}
	}
	text = withoutAccents(text)
	for _, p := range plain {
		if strings.Contains(text, p.text) {
			return p.kind, true
		}
	}
	return kind{}, false
}

// normal returns text in lowercase, with single blanks between words.
func normal(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(norm.NFC.String(text)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " ")
}
