@echo off
rem Starts the agent: the one that is installed, else this extension's version by uv, which keeps it in its cache.
rem Never a program that lies in the project's folder.
set NoDefaultCurrentDirectoryInExePath=1
set "PATH=%PATH%;%USERPROFILE%\.local\bin"
where /q $PATH:acp-adapter.exe
if not errorlevel 1 (
  acp-adapter.exe %*
  exit /b
)
where /q $PATH:uvx.exe
if not errorlevel 1 (
  uvx.exe acp-adapter==@VERSION@ %*
  exit /b
)
echo acp-adapter is not installed, and uv is not either. Install one: pipx install acp-adapter 1>&2
exit /b 127
