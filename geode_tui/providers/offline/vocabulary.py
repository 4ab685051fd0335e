"""Word lists of the offline planner: stop words, Korean particles, file endings, and what Korean terms are in code."""

from __future__ import annotations

from typing import Final


def words(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split())


def _ordered(text: str) -> tuple[str, ...]:
    return tuple(text.split())


COMMANDS: Final = words("""
    awk bash bun bundle cargo cat cd cmake composer curl date deno df diff docker dotnet du echo env false find gcc
    git go gradle grep head java javac jq just ls make mvn mypy node npm npx perl php pip pnpm poetry pwd pytest
    python python3 rake rg rspec ruby ruff rustc sed sh sleep sort stat swift tail tox tree true tsc uname uniq uv
    wc which yarn zig
""")
"""Programs by which a command is recognised."""

EXTENSIONS: Final = words("""
    adoc asm astro bash bat bib c cc cfg cjs clj cljs cmake conf cpp cs css csv cxx dart db diff dockerfile el env
    erl ex exs fish fs gd go gql gradle graphql groovy h hcl hh hpp hs htm html hxx ini ipynb java jinja jl js json
    json5 jsonc jsonl jsx kt kts less lisp lock log lua m make markdown md mdx mjs ml mli mm mod nim nix org pas
    patch php pl plist pm po properties proto ps1 pug py pyi pyx r rake rb rmd rs rst sass scala scm scss sh snap
    sol sql sum svelte svg swift tcl tcss tex tf tfvars toml ts tsv tsx txt v vb vim vue wasm webmanifest xml yaml
    yml zig zsh
""")
"""Endings of text files."""

FOLDERS: Final = words("""
    api app apps assets backend bench benches benchmarks bin client cmd component components config configs core
    crate crates doc docs documentation example examples frontend include internal lib libs migrations notes package
    packages pkg public script scripts server source sources spec specs src static test testing tests tool tools web
""")
"""Folders recognised by their name where the sentence speaks of a place."""

STOP_WORDS: Final = words("""
    everything reading anywhere everywhere usages usage paragraph add output containing tree outline
    times appear appears occur occurs occurrence occurrences mention mentions
    a about above actually after again all also am an analyse analyze and another any anything are as ask at audit
    back be because been before being below best between both but by call called can class classes code codebase
    come compare contents could count course currently day defined definition describe detail details did directory
    do does doing done down each either else end enough etc ever every exactly explain explore few file files find
    first folder folders for from full function functions get give given go going good got had handled happen
    happens has have having he hello help her here hey hi him his how however i if implementation implemented
    important in inside into is it its itself just keep kind know last less let like line lines list little located
    look looks lot made main make many may maybe me mean means method methods might mine more most much must my name
    named need never new next no none nor not notes nothing now number of off often ok okay old on once one only
    onto open or other others our out over overview own part parts perhaps place please point project put quite
    quote quotes rather read really related repo report repository right round rounds said same say says search see
    seem seems shall she should show shows since so some something still stop study stuff such summarise summarize
    summary sure survey take tell than thank thanks that the their them then there these they thing things think
    this those though through time to together too tour toward two under until up upon us use used uses using
    variable variables very via want wants was way we well were what whatever whats when where whether which while
    who whole whom whose why will with within without work works would write yes yet you your
""")

STOP_KO: Final = words("""
    동안 클래스 차이점 소스 메서드 변수 파이썬
    가장 각각 간단히 같은 거기 거의 검색 검색해 것 것들 결과 곳 곳을 관련 관련된 그 그것 그냥 그러면 그런 그럼
    그리고 기준 나 나에게 나오는 나와 내 내용 너 누가 누구 다 다른 다시 다음 대한 대해 더 되나요 되는 되는지 되어
    둘러 둘러봐 디렉터리 디렉토리 때 또 또는 뜻 라고 라운드 말해 말해줘 몇 모두 모든 무슨 무엇 무엇을 뭐 뭐가 뭔지
    및 방법 방식 보고 보고서 보여 보여줘 볼 부분 부탁 부터 비교 비교해 빨리 사용 사용하는 살펴 설명 설명해 설명해줘
    수 쓰이는 아주 안녕 안녕하세요 안에 알려 알려줘 앞 어느 어디 어디서 어디에 어때 어떤 어떻게 언제 얼마나 없는
    여기 역할 왜 요약 요약해 요약해줘 우리 위치 위해 이 이것 이런 이름 이미 이제 인용 읽고 읽어 읽어줘 있나 있나요
    있는 있는지 있어 자세히 저 저장소 전부 전체 정도 정리 정의 정의된 제발 제일 조금 조사 좀 주세요 줄 중 줘 지금
    찾고 찾아 찾아줘 처리 처리하는 처음 코드 코드베이스 통해 파일 파일들 폴더 프로젝트 하고 하나 하는 하는지 한 한번
    할 해 해주세요 해줘 했는지 확인 확인해 훑어
""")

PARTICLES: Final = _ordered("""
    에서부터 으로부터 에서는 에서의 으로는 이라고 이라는 까지는 에게서 한테서 들에서 들의 들을 들은 들이 에서 에는
    에도 에만 으로 부터 까지 에게 한테 이나 이랑 하고 처럼 보다 마다 라는 라고 이란 만을 만 은 는 이 가 을 를 의 에
    와 과 로 도 랑 나 란
""")
"""Particles that may hang on a word or a path, the longest first."""

ENDINGS: Final = _ordered("""
    되나요 하나요 인가요 합니다 됩니다 입니다 하는지 되는지 해줘 해요 하고 하는 되는 하며 하게 하기 했는 한다 된다
    해 된 한 할
""")
"""Endings that make a verb of a Korean noun."""

LANGUAGES: Final = _pairs("""
    python=py 파이썬=py javascript=js 자바스크립트=js typescript=ts 타입스크립트=ts rust=rs 러스트=rs markdown=md
    마크다운=md json=json yaml=yaml toml=toml java=java 자바=java kotlin=kt swift=swift ruby=rb golang=go html=html
    css=css shell=sh sql=sql c++=cpp php=php text=txt
""")
"""Languages and the ending of their files."""

TRANSLATIONS: Final = _pairs("""
    설정=config|setting 구성=config 오류=error 에러=error 예외=exception 테스트=test 함수=function|def 클래스=class
    로그=log 로깅=logging 데이터베이스=database 디비=database 인증=auth 권한=permission 사용자=user 서버=server
    클라이언트=client 캐시=cache 비용=cost 가격=price 토큰=token 모델=model 화면=screen|view 명령=command
    명령어=command 도구=tool 문서=docs 빌드=build 배포=deploy|release 의존성=dependenc 라이선스=license
    라이센스=license 버전=version 설치=install 진입점=main 시작점=main 결제=payment 요청=request 응답=response
    파서=parser 파싱=pars(?:e|ing) 라우터=router 라우팅=rout 컴포넌트=component 비동기=async 보안=secur
    성능=performance 메모리=memory 네트워크=network 압축=compress|compact 이벤트=event 스레드=thread
    프로세스=process 저장=save|store 불러오기=load 재시도=retry|retries 타임아웃=timeout 제한=limit 문자열=string
    이미지=image 환경변수=environ 환경=env 날짜=date 시간=time 암호=password|crypt 비밀번호=password 키=key
    입력=input 출력=output 상태=state|status 세션=session 색상=color 테마=theme 검증=valid 정렬=sort 필터=filter
    변환=convert 업로드=upload 다운로드=download 알림=notif 메시지=message 훅=hook 플러그인=plugin 템플릿=template
    스키마=schema 쿼리=query 번역=translat 예제=example 포트=port 주소=address|url 경로=path
""")
"""Korean terms of the trade and what code calls them (regular expressions)."""

USUAL_NAMES: Final = _pairs("""
    readme=README Readme=README changelog=CHANGELOG Changelog=CHANGELOG license=LICENSE License=LICENSE licence=LICENSE
    Licence=LICENSE contributing=CONTRIBUTING Contributing=CONTRIBUTING makefile=Makefile dockerfile=Dockerfile
""")
"""Well-known files as they are usually spelt."""

FOLDER_NAMES: Final = _pairs("테스트=tests 문서=docs 소스=src 예제=examples 스크립트=scripts 설정=config")
"""Folders by the Korean word for what is in them."""
