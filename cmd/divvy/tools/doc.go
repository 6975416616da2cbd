// Package tools has the commands that need no daemon: simulation and replay, the doctor, migrations, manual pages.
package tools
